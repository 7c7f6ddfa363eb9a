// `dogged bench`: how fast the queue is on this database.
#include <algorithm>
#include <iostream>
#include <memory>

#include <unistd.h>

#include "cli/bench/core/figures.hpp"
#include "cli/bench/scene.hpp"
#include "cli/bench/server.hpp"
#include "cli/bench/workloads.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "client/database_url.hpp"
#include "text/duration.hpp"

namespace dogged::cli {
namespace {

using namespace bench;

struct BenchOptions {
  std::string schema = "dogged_bench";
  int rounds = 1;
  Conditions conditions;
  Workload workload;
  std::string time, settle, every;  ///< as the options are written
  const CLI::App* command = nullptr;
};

/// Shows the present step on a terminal, on one line that the next step overwrites.
class LiveLine {
 public:
  explicit LiveLine(bool is_wanted) : is_wanted_(is_wanted) {}
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& doing, std::int64_t done, std::int64_t of) {
    if (doing.empty()) return clear();
    if (!is_wanted_) return;
    const auto now = std::chrono::steady_clock::now();
    if (doing == doing_ && now - shown_at_ < std::chrono::milliseconds{100}) return;
    doing_ = doing;
    shown_at_ = now;
    std::string text = doing;
    if (done > 0 || of > 0) text += " " + number_for_people(static_cast<double>(done));
    if (of > 0) text += " of " + number_for_people(static_cast<double>(of));
    std::cerr << "\r\033[K" << text << std::flush;
    is_shown_ = true;
  }

  void clear() {
    if (is_shown_) std::cerr << "\r\033[K" << std::flush;
    is_shown_ = false;
  }

 private:
  const bool is_wanted_;
  bool is_shown_ = false;
  std::string doing_;
  std::chrono::steady_clock::time_point shown_at_;
};

using Round = std::function<void(Scene& scene, const Server& server, const Workload& workload, Figures& figures)>;

std::string server_text(const Server& server, const Style& style) {
  std::string text =
      "PostgreSQL " + server.version + ", " +
      (server.is_on_this_machine ? "on this machine, which has " + std::to_string(cpus_of_machine()) + " CPUs"
                                 : std::string{"on another machine"}) +
      "\n";
  std::size_t column = 0;
  for (const auto& [name, value] : server.settings) {
    const std::string item = name + " " + value;
    if (column > 0 && column + item.size() + 2 > style.width) {
      text += "\n";
      column = 0;
    }
    text += (column == 0 ? "  " : ", ") + item;
    column += item.size() + 2;
  }
  return text + "\n";
}

/// The options that describe the work, and not the conditions.
std::string workload_json(const CLI::App& command, const Workload& work) {
  JsonObject json;
  json.add("tasks", work.tasks).add("workers", work.workers).add("concurrency", work.concurrency);
  const auto add = [&](const char* option, const char* key, std::int64_t value) {
    if (command.get_option_no_throw(option) != nullptr) json.add(key, value);
  };
  add("--failures", "failures", work.failures);
  add("--batch", "batch", work.batch);
  add("--clients", "clients", work.clients);
  add("--rate", "rate", work.rate);
  add("--time", "time_ms", work.time.count());
  add("--settle", "settle_ms", work.settle.count());
  add("--every", "every_ms", work.every.count());
  return json.text();
}

std::string result_json(const std::string& name, const BenchOptions& options, const Workload& workload,
                        const Server& server, const Figures& figures) {
  JsonObject settings;
  for (const auto& [setting, value] : server.settings) settings.add(setting, value);
  std::vector<std::string> warnings;
  for (const std::string& warning : warnings_for(server, options.conditions)) warnings.push_back(json_string(warning));
  return JsonObject{}
      .add("bench", name)
      .add("dogged_version", DOGGED_VERSION)
      .add_json("server", JsonObject{}
                              .add("version", server.version)
                              .add("is_on_this_machine", server.is_on_this_machine)
                              .add_json("settings", settings.text())
                              .text())
      .add_json("warnings", json_array(warnings))
      .add_json("conditions", JsonObject{}
                                  .add("history", options.conditions.history)
                                  .add("deferred", options.conditions.deferred)
                                  .add("hold_snapshot", options.conditions.hold_snapshot)
                                  .add("payload", options.conditions.payload)
                                  .add("unique", options.conditions.unique)
                                  .text())
      .add_json("workload", workload_json(*options.command, workload))
      .add_json("figures", figures.json())
      .text();
}

ExitCode run_benchmark(const Invocation& invocation, const std::string& name, const BenchOptions& options,
                       const Round& round) {
  db::require_schema_name(options.schema);
  Invocation bench_invocation = invocation;
  bench_invocation.schema = options.schema;
  const db::Settings settings{.url = find_database_url(invocation.database_url).url,
                              .schema = options.schema,
                              .application_name = "dogged bench"};
  Workload workload = options.workload;
  if (!options.time.empty()) workload.time = duration_from_text(options.time);
  if (!options.settle.empty()) workload.settle = duration_from_text(options.settle);
  if (!options.every.empty()) workload.every = duration_from_text(options.every);

  stop_on_interrupt();
  db::Connection connection = bench_invocation.connect_to_any_schema();
  const Server server = look_at_server(connection);
  if (invocation.format == Format::table) std::cout << server_text(server, invocation.style()) << std::flush;
  for (const std::string& warning : warnings_for(server, options.conditions))
    std::cerr << "warning: " << warning << "\n";

  Figures figures;
  LiveLine line{isatty(STDERR_FILENO) == 1};
  {
    int number = 0;
    Scene scene{settings, options.conditions, [&](const std::string& doing, std::int64_t done, std::int64_t of) {
                  const std::string prefix =
                      options.rounds > 1 && number > 0 && !doing.empty()
                          ? "round " + std::to_string(number) + " of " + std::to_string(options.rounds) + ": "
                          : "";
                  line.show(prefix + doing, done, of);
                }};
    const auto all_rounds = [&] {
      for (number = 1; number <= options.rounds; ++number) round(scene, server, workload, figures);
    };
    if (options.conditions.hold_snapshot) {
      with_snapshot_held(settings, all_rounds);
    } else {
      all_rounds();
    }
    line.show("removing the schema " + options.schema, 0, 0);
  }
  line.clear();
  if (invocation.format == Format::table) {
    std::cout << "\n" << render_table(figures.columns(), figures.rows(), invocation.table_style());
  } else {
    std::cout << result_json(name, options, workload, server, figures) << "\n";
  }
  return ExitCode::ok;
}

/// A number from `least` to `most`, with a message that says so.
template <class Number>
CLI::Option* add_number(CLI::App& command, const std::string& name, Number& number, const std::string& description,
                        Number least, Number most) {
  return command.add_option(name, number, description)
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Validator{[name, least, most](std::string& text) {
                               try {
                                 std::size_t end = 0;
                                 const auto value = static_cast<std::int64_t>(std::stoll(text, &end));
                                 if (end == text.size() && value >= least && value <= most) return std::string{};
                               } catch (const std::exception&) {  // no number, or too large
                               }
                               return name + " is " + in_quotes(text) + ", and must be a number from " +
                                      std::to_string(least) + " to " + std::to_string(most);
                             },
                             ""});
}

void add_common_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--bench-schema", options.schema, "The schema that is made for it, and dropped at the end")
      ->type_name("NAME")
      ->capture_default_str();
  add_number(command, "--rounds", options.rounds, "How often to measure; medians are shown", 1, 100);
  add_number(command, "--workers", options.workload.workers, "Worker processes", options.workload.workers == 0 ? 0 : 1,
             200);
  add_number(command, "--concurrency", options.workload.concurrency, "Handlers at once in each of them", 1, 1000);
  const std::int64_t most = 1'000'000'000;
  add_number<std::int64_t>(command, "--history", options.conditions.history,
                           "Begin with so many finished tasks of the last seven days", 0, most);
  add_number<std::int64_t>(command, "--deferred", options.conditions.deferred,
                           "Begin with so many tasks that are due tomorrow, of more urgent priority", 0, most);
  add_number<std::int64_t>(command, "--payload", options.conditions.payload, "Bytes in the args of each task", 0,
                           1'000'000);
  command.add_flag("--unique", options.conditions.unique, "Give each task a unique key of its own");
  command.add_flag("--hold-snapshot", options.conditions.hold_snapshot,
                   "Keep a transaction open meanwhile, so that nothing can be vacuumed");
}

/// `text` holds the default, and then the given value.
void add_duration(CLI::App& command, const std::string& name, std::string& text, const std::string& description,
                  milliseconds least) {
  constexpr milliseconds most = std::chrono::hours{720};
  command.add_option(name, text, description)
      ->type_name("DURATION")
      ->capture_default_str()
      ->check(is_duration(most))
      ->check(CLI::Validator{[name, least](std::string& time) {
                               const milliseconds given = duration_from_text(time);
                               if (given < least) {
                                 return name + " is " + time + ", and must be " + duration_to_text(least) + " at least";
                               }
                               return std::string{};
                             },
                             ""});
}

void add_tasks(CLI::App& command, BenchOptions& options, std::int64_t tasks, const std::string& description) {
  options.workload.tasks = tasks;
  add_number<std::int64_t>(command, "--tasks", options.workload.tasks, description, 1, 100'000'000);
}

/// A benchmark's subcommand, with the options that all have.
CLI::App* add_bench_command(CLI::App& parent, Invocation& invocation, const std::string& name,
                            const std::shared_ptr<BenchOptions>& options, const std::string& description,
                            const std::string& footer, const Round& round) {
  CLI::App* command = add_command(parent, invocation, name, description, footer, [&invocation, name, options, round] {
    return run_benchmark(invocation, name, *options, round);
  });
  options->command = command;
  add_common_options(*command, *options);
  return command;
}

constexpr const char* bench_footer =
    "Each makes a schema of its own, dogged_bench, and drops it at the end, also after Ctrl-C, SIGTERM "
    "or SIGHUP;\n"
    "your queue is not touched.\n"
    "Workers are real processes, this program itself. At the end each checks that what it enqueued ended once and "
    "with\n"
    "its attempts, or, where no worker was to run it, is there; if not, it says so and exits with 1.\n"
    "\n"
    "Examples:\n"
    "  dogged bench drain                            100,000 tasks that do nothing\n"
    "  dogged bench drain --rounds 5 -o json\n"
    "  dogged bench drain --deferred 1000000         is it as fast beside a million tasks that wait?\n"
    "  dogged bench latency\n"
    "  dogged bench steady --rate 10000 --time 5m --hold-snapshot\n"
    "\n"
    "What is measured is the server's disk and CPUs as much as the queue: compare on one machine, in one run.";

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* parent = app.add_subcommand("bench", "Measure how fast the queue is on this database");
  parent->require_subcommand(1);
  parent->footer(bench_footer);

  const auto make_options = [] { return std::make_shared<BenchOptions>(); };
  auto options = make_options();
  CLI::App* command = add_bench_command(*parent, invocation, "drain", options,
                                        "How fast workers end tasks that are all there when they start",
                                        "  dogged bench drain --workers 4\n"
                                        "  dogged bench drain --history 10000000 --rounds 3",
                                        [](Scene& scene, const Server& server, const Workload& workload,
                                           Figures& figures) { drain(scene, server, workload, figures); });
  add_tasks(*command, *options, 100'000, "How many");

  options = make_options();
  command = add_bench_command(*parent, invocation, "retry", options,
                              "The same, of tasks that fail first and are retried after 1 ms",
                              "  dogged bench retry --failures 3",
                              [](Scene& scene, const Server& server, const Workload& workload, Figures& figures) {
                                drain(scene, server, workload, figures);
                              });
  add_tasks(*command, *options, 10'000, "How many");
  options->workload.failures = 1;
  add_number(*command, "--failures", options->workload.failures, "How many attempts of each fail", 1, 20);

  options = make_options();
  options->workload.workers = 0;
  command = add_bench_command(*parent, invocation, "enqueue", options,
                              "How fast tasks are enqueued: in bulk, singly, and by many clients",
                              "  dogged bench enqueue\n"
                              "  dogged bench enqueue --workers 1              while a worker listens, and runs them",
                              [](Scene& scene, const Server&, const Workload& workload, Figures& figures) {
                                enqueue(scene, workload, figures);
                              });
  add_tasks(*command, *options, 100'000, "How many in bulk");
  add_number(*command, "--batch", options->workload.batch, "How many in one call, in bulk", 1, 100'000);
  add_number(*command, "--clients", options->workload.clients, "How many enqueue singly at once", 1, 1000);
  options->time = "5s";
  add_duration(*command, "--time", options->time, "For how long to enqueue singly", milliseconds{1});

  options = make_options();
  command =
      add_bench_command(*parent, invocation, "latency", options, "How soon an idle worker runs a task that is enqueued",
                        "  dogged bench latency --tasks 1000\n"
                        "  dogged bench latency --tasks 50 --every 5s    of a queue that is rarely used",
                        [](Scene& scene, const Server&, const Workload& workload, Figures& figures) {
                          latency(scene, workload, figures);
                        });
  add_tasks(*command, *options, 500, "How many, one after another");
  options->every = "20ms";
  add_duration(*command, "--every", options->every, "On average between one that has begun and the next",
               milliseconds{1});

  options = make_options();
  command =
      add_bench_command(*parent, invocation, "schedule", options, "How late tasks and retries begin that fall due",
                        "  dogged bench schedule --tasks 5000 --time 30s",
                        [](Scene& scene, const Server&, const Workload& workload, Figures& figures) {
                          schedule(scene, workload, figures);
                        });
  add_tasks(*command, *options, 1'000, "How many; each fails once, and is due again after 2 s");
  options->time = "10s";
  add_duration(*command, "--time", options->time, "Over which they fall due", milliseconds{1});

  options = make_options();
  command = add_bench_command(*parent, invocation, "idle", options, "What workers cost that have nothing to do",
                              "  dogged bench idle --workers 64 --time 1m\n"
                              "\n"
                              "Whatever else goes on in the database and on the machine is counted as well.",
                              [](Scene& scene, const Server& server, const Workload& workload, Figures& figures) {
                                idle(scene, server, workload, figures);
                              });
  options->time = "30s";
  add_duration(*command, "--time", options->time, "For how long to watch", std::chrono::seconds{1});
  // Workers compare their declarations for a minute after their start, and then do chores. A session's counters appear
  // up to 10 s later.
  options->settle = "80s";
  add_duration(*command, "--settle", options->settle, "How long they are left alone first, to come to rest",
               milliseconds{0});

  options = make_options();
  command = add_bench_command(
      *parent, invocation, "steady", options, "Producers and workers together, with a line each second",
      "  dogged bench steady --rate 10000 --time 5m",
      [](Scene& scene, const Server& server, const Workload& workload, Figures& figures) {
        steady(scene, server, workload, figures, [](const std::string& line) { std::cerr << line << "\n"; });
      });
  options->workload.rate = 1'000;
  add_number<std::int64_t>(*command, "--rate", options->workload.rate, "How many tasks a second are enqueued", 100,
                           1'000'000);
  options->time = "30s";
  add_duration(*command, "--time", options->time, "For how long", std::chrono::seconds{1});
}

}  // namespace dogged::cli
