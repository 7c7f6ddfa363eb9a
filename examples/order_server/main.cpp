// A server that exists already, and gains durable tasks: it answers HTTP requests, and a worker inside of the same
// process confirms the orders. Handlers use what the server has, here its list of confirmations.
//
//   order_server DATABASE_URL      then: curl -d '{"customer": "Ada", "cents": 1250}' http://127.0.0.1:PORT/orders
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>

#include <dogged/client.hpp>
#include <dogged/worker.hpp>

using namespace std::chrono_literals;

namespace {

struct Order {
  std::string customer;
  int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, customer, cents)

constexpr dogged::Task<Order, std::string> confirm_order{"order.confirm", {.queue = "orders"}};

/// The state that the server and the handlers of its tasks share.
class Confirmations {
 public:
  std::string add(const Order& order) {
    const std::scoped_lock lock{mutex_};
    all_.push_back("confirmed: " + std::to_string(order.cents) + " cents for " + order.customer);
    return all_.back();
  }
  std::size_t count() const {
    const std::scoped_lock lock{mutex_};
    return all_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

/// One line for each attempt, as many programs write for each request.
class AttemptLog : public dogged::Middleware {
  void on_end(dogged::Context& ctx, const dogged::AttemptEnd& end) override {
    const auto ms = std::chrono::duration<double, std::milli>(end.running_for).count();
    ctx.log().info("{} after {:.1f} ms {}", dogged::to_text(end.outcome), ms, end.error_code);
  }
};

void answer(httplib::Response& response, int status, const nlohmann::json& body) {
  response.status = status;
  response.set_content(body.dump() + "\n", "application/json");
}

void route(httplib::Server& server, dogged::Client& client, const Confirmations& confirmations) {
  server.Post("/orders", [&](const httplib::Request& request, httplib::Response& response) {
    const Order order = nlohmann::json::parse(request.body).get<Order>();
    answer(response, 202, {{"task", client.enqueue(confirm_order, order)}});
  });
  server.Get(R"(/orders/(\d+))", [&](const httplib::Request& request, httplib::Response& response) {
    const auto outcome = client.wait(confirm_order, std::stoll(request.matches[1]), 10s);
    answer(response, outcome.has_succeeded() ? 200 : 202,
           {{"status", dogged::to_text(outcome.status)}, {"result", outcome.result.value_or("")}});
  });
  server.Get("/confirmations", [&](const httplib::Request&, httplib::Response& response) {
    answer(response, 200, {{"count", confirmations.count()}});
  });
  server.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      answer(response, 400, {{"error", error.what()}});
    }
  });
}

int serve(const std::string& database_url) {
  // First of all, so that all threads inherit it: the main thread alone takes the signals, below.
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Confirmations confirmations;
  dogged::Tasks tasks;
  tasks.add([&](dogged::Context&, const Order& order) { return confirmations.add(order); }, confirm_order,
            {.retry = dogged::exponential(1s).with_max_retries(5), .auto_retry_for = {"PG_08006"}, .timeout = 10s});
  dogged::Worker worker{{.database_url = database_url,
                         .queues = {{"orders", 20}},
                         .middleware = {std::make_shared<AttemptLog>()},
                         .on_end =
                             [](const dogged::WorkerEnd& end) {
                               if (end.reason != dogged::WorkerEnd::Reason::stopped) ::kill(::getpid(), SIGTERM);
                             }},
                        tasks};
  worker.start();

  dogged::Client client{database_url};
  httplib::Server server;
  route(server, client, confirmations);
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread listener{[&] { server.listen_after_bind(); }};
  std::printf("listening on http://127.0.0.1:%d\n", port);
  std::fflush(stdout);

  int signal = 0;
  ::sigwait(&signals, &signal);
  server.stop();
  listener.join();
  const dogged::WorkerEnd end = worker.stop(15s);
  std::printf("stopped: %zu given back, %zu interrupted\n", end.given_back, end.interrupted);
  return end.reason == dogged::WorkerEnd::Reason::stopped ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DATABASE_URL\n", argv[0]);
    return 2;
  }
  try {
    return serve(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return EXIT_FAILURE;
  }
}
