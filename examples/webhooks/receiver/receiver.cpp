// The server around the stories: cpp-httplib, one httplib::Server for each address, one book for all.
#include "receiver.hpp"

#include <condition_variable>
#include <cstddef>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "abort_connection.hpp"
#include "story.hpp"

namespace webhooks {
namespace {

using namespace std::chrono_literals;

// A connection that is kept alive occupies a thread; a worker has as many as it runs deliveries at once.
constexpr std::size_t threads_per_address = 64;
constexpr std::size_t request_bytes_max = 4 << 20;

// Address reuse lets a receiver restart at once. cpp-httplib's default also lets two of them share a port
// unnoticed.
void reuse_address(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

std::runtime_error cannot_listen(const std::string& host, int port) {
  return std::runtime_error{"cannot listen on " + host + ":" + std::to_string(port) +
                            ": it is taken or not an address of this machine; port 0 takes one that is free"};
}

/// A port of ours where every connection is refused: a socket that is bound but does not listen.
class HeldPort {
 public:
  HeldPort(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) throw cannot_listen(host, port);
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address{found, &freeaddrinfo};
    descriptor_ = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    reuse_address(descriptor_);
    if (bind(descriptor_, address->ai_addr, address->ai_addrlen) != 0) {
      close(descriptor_);
      throw cannot_listen(host, port);
    }
  }
  ~HeldPort() { close(descriptor_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  [[nodiscard]] int port() const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                               : reinterpret_cast<sockaddr_in&>(address).sin_port);
  }

 private:
  int descriptor_ = -1;
};

/// Waits that a stop ends early.
class Waiter {
 public:
  void wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock{mutex_};
    stopped_changed_.wait_for(lock, time, [this] { return stopped_; });
  }
  void stop() {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    stopped_changed_.notify_all();
  }
  [[nodiscard]] bool stopped() const {
    const std::lock_guard lock{mutex_};
    return stopped_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
};

/// The requests that were received. Thread-safe.
class Book {
 public:
  explicit Book(Receiver::Log log) : log_(std::move(log)) {}

  /// The number of this attempt.
  int begin_attempt(const std::string& path, const std::string& delivery) {
    const std::lock_guard lock{mutex_};
    return ++deliveries_[{path, delivery}].attempts;
  }

  void end_attempt(const std::string& path, const ReceivedRequest& request) {
    const std::lock_guard lock{mutex_};
    ++requests_;
    ++by_path_[path];
    ++by_status_[request.status == 0 ? "reset" : std::to_string(request.status)];
    if (request.status == 200) ++deliveries_[{path, request.delivery}].accepted;
    if (log_) log_(request);
  }

  [[nodiscard]] nlohmann::json stats() const {
    const std::lock_guard lock{mutex_};
    int accepted = 0;
    int duplicates = 0;
    for (const auto& [key, delivery] : deliveries_) {
      if (delivery.accepted == 0) continue;
      ++accepted;
      duplicates += delivery.accepted - 1;
    }
    return {{"requests", requests_},    {"deliveries", deliveries_.size()}, {"accepted", accepted},
            {"duplicates", duplicates}, {"by_status", by_status_},          {"by_path", by_path_}};
  }

 private:
  struct Delivery {
    int attempts = 0;
    int accepted = 0;
  };

  mutable std::mutex mutex_;
  Receiver::Log log_;
  int requests_ = 0;
  std::map<std::pair<std::string, std::string>, Delivery> deliveries_;  // by path and key
  std::map<std::string, int> by_status_;
  std::map<std::string, int> by_path_;
};

std::string http_date(std::time_t time) {
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[sizeof "Sun, 06 Nov 1994 08:49:37 GMT"];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT",
                &utc);  // in the "C" locale, which no one changes here
  return text;
}

void ask_to_wait(const Story& story, httplib::Response& response) {
  if (!story.wait) return;
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  response.set_header("Date", http_date(now));
  response.set_header("Retry-After", story.form == RetryAfterForm::date ? http_date(now + story.wait->count())
                                                                        : std::to_string(story.wait->count()));
}

void answer(httplib::Response& response, int status, const nlohmann::json& body) {
  response.status = status;
  response.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", "application/json");
}

QueryParameter query_of(const httplib::Request& request) {
  return [&request](const std::string& name) -> std::optional<std::string> {
    if (!request.has_param(name)) return std::nullopt;
    return request.get_param_value(name);
  };
}

}  // namespace

class Receiver::Impl {
 public:
  explicit Impl(Log log) : book_(std::move(log)) {}
  ~Impl() { waiter_.stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int listen(const std::string& host, int port) { return serve(add_listener(), host, port); }

  int listen_late(const std::string& host, int port, std::chrono::milliseconds outage) {
    auto held = std::make_unique<HeldPort>(host, port);
    const int bound = held->port();
    Listener& listener = add_listener();
    listener.opener = std::jthread{[this, &listener, host, bound, outage, held = std::move(held)] {
      waiter_.wait_for(outage);
      if (!waiter_.stopped()) serve(listener, host, bound);
    }};
    return bound;
  }

  [[nodiscard]] nlohmann::json stats() const { return book_.stats(); }

 private:
  struct Listener {
    Listener() = default;
    ~Listener() {
      if (opener.joinable()) opener.join();  // from here on the server runs, or never will
      server.stop();
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    httplib::Server server;
    std::jthread server_thread;
    std::jthread opener;  // of listen_late
  };

  static int serve(Listener& listener, const std::string& host, int port) {
    httplib::Server& server = listener.server;
    const int bound = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
    if (bound < 0) throw cannot_listen(host, port);
    listener.server_thread = std::jthread{[&server] { server.listen_after_bind(); }};
    while (!server.is_running()) std::this_thread::yield();  // before it runs, stop() would be forgotten
    return bound;
  }

  Listener& add_listener() {
    Listener& listener = *listeners_.emplace_back(std::make_unique<Listener>());
    httplib::Server& server = listener.server;
    server.new_task_queue = [] { return new httplib::ThreadPool{threads_per_address}; };
    server.set_socket_options(&reuse_address);
    server.set_tcp_nodelay(true);
    server.set_keep_alive_timeout(1);  // seconds; how long a stop may take
    server.set_keep_alive_max_count(1000);
    server.set_payload_max_length(request_bytes_max);
    server.Get("/stats",
               [this](const httplib::Request&, httplib::Response& response) { answer(response, 200, stats()); });
    server.Post("/.*",
                [this](const httplib::Request& request, httplib::Response& response) { receive(request, response); });
    return listener;
  }

  void receive(const httplib::Request& request, httplib::Response& response) {
    try {
      const auto story = find_story(request.path, query_of(request));
      if (story) return play(*story, request, response);
      answer(response, 404, {{"error", "there is no story " + request.path + "; there are " + story_paths()}});
    } catch (const BadStory& bad) {
      answer(response, 400, {{"error", bad.what()}});
    }
  }

  void play(const Story& story, const httplib::Request& request, httplib::Response& response) {
    const std::string key = request.get_header_value("Idempotency-Key");
    ReceivedRequest received{.target = request.target, .delivery = key.empty() ? request.target : key};
    received.attempt = book_.begin_attempt(request.path, received.delivery);
    const bool is_bad = story.is_bad(received.attempt);
    if (is_bad) waiter_.wait_for(story.delay);
    received.status = !is_bad ? 200 : story.reset ? 0 : story.status;
    book_.end_attempt(request.path, received);  // before the client can see how it ended
    if (is_bad) {
      misbehave(story, request, response);
    } else {
      answer(response, 200, {{"accepted", received.delivery}, {"attempt", received.attempt}});
    }
  }

  static void misbehave(const Story& story, const httplib::Request& request, httplib::Response& response) {
    if (story.reset) {
      abort_connection(request.local_port, request.remote_addr, request.remote_port);
      return;
    }
    nlohmann::json body = {{"story", "as scripted"}};
    if (story.body_bytes > 0) body["filler"] = std::string(story.body_bytes, '.');
    ask_to_wait(story, response);
    answer(response, story.status, body);
  }

  Book book_;
  Waiter waiter_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // last: their threads use the others
};

Receiver::Receiver(Log log) : impl_(std::make_unique<Impl>(std::move(log))) {}
Receiver::~Receiver() = default;

int Receiver::listen(const std::string& host, int port) { return impl_->listen(host, port); }

int Receiver::listen_late(const std::string& host, int port, std::chrono::milliseconds outage) {
  return impl_->listen_late(host, port, outage);
}

std::string Receiver::stats() const { return impl_->stats().dump(); }

}  // namespace webhooks
