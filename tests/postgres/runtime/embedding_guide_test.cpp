// docs/embedding.md: the guide's programs stand here word for word, and do what the guide says.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace std::chrono_literals;
using dogged::test::no_args;
using dogged::test::TestDatabase;
using dogged::test::work;

namespace embedding_guide {
struct Mail {
  std::string to;
  std::string tenant;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Mail, to, tenant)

namespace {

constexpr dogged::Task<Mail, std::string> send_mail{"mail.send", {.queue = "mail"}};

struct Mailer {
  std::string send(const Mail& mail) {
    if (mail.to.empty()) throw dogged::TaskError{"NO_ADDRESS", "whom to?"};
    return "sent to " + mail.to;
  }
};

struct Tenant {
  std::string name;
};

std::mutex mutex;
std::map<std::string, int> errors;

Tenant find_tenant(const nlohmann::json& name) {
  if (name == "unknown") throw dogged::TaskError{"NO_TENANT", "there is no such tenant"};
  return {name};
}
void count_error(const Tenant& tenant, std::string_view code) {
  const std::scoped_lock lock{mutex};
  ++errors[tenant.name + " " + std::string{code}];
}

class Tenancy : public dogged::Middleware {
  void before(dogged::Context& ctx) override {
    const auto args = nlohmann::json::parse(ctx.args_json());
    ctx.local<Tenant>() = find_tenant(args.at("tenant"));  // an exception fails the attempt
  }
  void on_error(dogged::Context& ctx, const dogged::AttemptEnd& end) override {
    count_error(ctx.local<Tenant>(), end.error_code);
  }
};

std::string current_trace() { return "trace-1"; }

class Stamp : public dogged::EnqueueMiddleware {
  void before(std::vector<dogged::NewTask>& tasks) override {
    for (dogged::NewTask& task : tasks) task.options.trace_context = current_trace();
  }
};

}  // namespace
}  // namespace embedding_guide

TEST_CASE("the guide's worker inside of a program runs its tasks, with its hooks, and stops within its time") {
  using namespace embedding_guide;
  TestDatabase database;
  const std::string url = database.settings_of("worker").url;
  Mailer mailer;

  dogged::Tasks tasks;
  tasks.add([&](dogged::Context&, const Mail& mail) { return mailer.send(mail); }, send_mail, {.timeout = 10s});

  dogged::WorkerOptions options{.database_url = url, .queues = {{"mail", 20}}};
  options.schema = database.schema();
  options.middleware = {std::make_shared<Tenancy>()};

  dogged::Worker worker{options, tasks};
  worker.start();

  dogged::Client client = database.client();
  const auto sent = client.wait(send_mail, client.enqueue(send_mail, {.to = "ada", .tenant = "t1"}), 20s);
  CHECK(sent.result == "sent to ada");
  const auto failed = client.wait(send_mail, client.enqueue(send_mail, {.to = "", .tenant = "t1"}), 20s);
  CHECK(failed.error_code == "NO_ADDRESS");
  const auto unknown = client.wait(send_mail, client.enqueue(send_mail, {.to = "bob", .tenant = "unknown"}), 20s);
  CHECK(unknown.error_code == "NO_TENANT");

  const dogged::WorkerEnd end = worker.stop(20s);
  CHECK(end.reason == dogged::WorkerEnd::Reason::stopped);
  CHECK(errors == std::map<std::string, int>{{"t1 NO_ADDRESS", 1}});
}

TEST_CASE("the guide's hook around enqueue stamps each task") {
  TestDatabase database;
  dogged::Client client{database.settings().url,
                        {.schema = database.schema(),
                         .warns_of_undeclared = false,
                         .middleware = {std::make_shared<embedding_guide::Stamp>()}}};
  static_cast<void>(client.enqueue_many(work, {no_args, no_args}));
  CHECK(database.value("select count(*) as value from dogged.tasks where trace_context = 'trace-1'") == "2");
}
