// See page_server.hpp.
#include "http/page_server.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dogged/detail/mutex.hpp>
#include <dogged/error.hpp>

#include "http/block_sigpipe.hpp"
#include "http/bounded_connection.hpp"

namespace dogged::http {
namespace {

constexpr std::size_t most_waiting = 4;
constexpr milliseconds look_around{50};  // how often a thread with a silent connection looks whether another one waits
constexpr std::size_t requests_of_a_connection = 100;
constexpr std::size_t longest_request = 8192;
constexpr std::size_t piece = 16'384;  // of an answer: a client gets each when it has come as a whole

/// void in cpp-httplib 0.11, and bool in 0.18.
using Accepted = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

/// httplib's own pool lets any number of connections wait. Here the thread that accepts them waits instead.
class BoundedPool final : public httplib::TaskQueue {
 public:
  /// `waiting`: how many connections wait for a thread.
  explicit BoundedPool(std::atomic<std::size_t>& waiting) : waiting_count_(waiting) {
    for (int i = 0; i < PageServer::threads; ++i) threads_.emplace_back([this] { work(); });
  }

  Accepted enqueue(std::function<void()> serve) override {
    detail::Lock lock{mutex_};
    while (waiting_.size() >= most_waiting && !ended_) changed_.wait(lock);
    waiting_.push_back(std::move(serve));
    waiting_count_ = waiting_.size();
    changed_.notify_all();
    return Accepted(true);
  }

  void shutdown() override {
    {
      const detail::Lock lock{mutex_};
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    detail::Lock lock{mutex_};
    while (true) {
      while (waiting_.empty() && !ended_) changed_.wait(lock);
      if (waiting_.empty()) return;
      const std::function<void()> serve = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_count_ = waiting_.size();
      changed_.notify_all();
      lock.unlock();
      serve();
      lock.lock();
    }
  }

  detail::Mutex mutex_;
  detail::Condition changed_;
  std::atomic<std::size_t>& waiting_count_;
  std::deque<std::function<void()>> waiting_ DOGGED_GUARDED_BY(mutex_);
  bool ended_ DOGGED_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

/// httplib serves its own connections for as long as each byte comes in time.
class BoundedServer final : public httplib::Server {
 public:
  explicit BoundedServer(const PageServer::Limits& limits) : limits_(limits) {
    new_task_queue = [this] { return new BoundedPool{waiting_}; };
  }

 private:
  /// Whether a request of the connection begins before another connection needs the thread. A scraper keeps its
  /// connection open between scrapes, and others connect and never ask: both would hold up a probe. The data of a
  /// client that asks at once come with its connection, so `look_around` is enough for them.
  bool begins_request(const BoundedConnection& connection) const {
    const auto end = std::chrono::steady_clock::now() + limits_.without_progress;
    while (svr_sock_ != INVALID_SOCKET) {
      if (connection.has_input_within(look_around)) return true;
      if (waiting_ > 0 || std::chrono::steady_clock::now() >= end) return false;
    }
    return false;
  }

  bool process_and_close_socket(socket_t socket) override {
    BoundedConnection connection{socket, limits_};
    bool is_answered = true;
    bool is_closed = false;
    for (std::size_t left = requests_of_a_connection; is_answered && !is_closed && left > 0; --left) {
      if (!begins_request(connection)) break;
      connection.limit_request();
      is_answered = answer(*this, connection, left == 1, is_closed);
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return is_answered;
  }

  template <class Self>
  static bool answer(Self& self, BoundedConnection& connection, bool is_last, bool& is_closed) {
    if constexpr (requires { self.process_request(connection, is_last, is_closed, nullptr); }) {
      return self.process_request(connection, is_last, is_closed, nullptr);
    } else {  // cpp-httplib 0.18 takes the addresses of both ends as well
      return self.process_request(connection, {}, 0, {}, 0, is_last, is_closed, nullptr);
    }
  }

  const PageServer::Limits limits_;
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace

class PageServer::Impl {
 public:
  Impl(const std::string& name, const ListenAddress& address, Respond respond, const Limits& limits)
      : address_(address), respond_(std::move(respond)), server_(limits) {
    ::sigaction(SIGPIPE, &pipe_action_, nullptr);
    set_up();
    bind(name);
    thread_ = std::thread{[this] {
      block_sigpipe();
      server_.listen_after_bind();
      has_ended_ = true;
    }};
    while (!server_.is_running() && !has_ended_) std::this_thread::yield();  // stop() would not stop it before
  }
  ~Impl() {
    server_.stop();
    thread_.join();
  }

  [[nodiscard]] const ListenAddress& address() const noexcept { return address_; }

 private:
  static struct sigaction action_of_sigpipe() {
    struct sigaction action {};
    ::sigaction(SIGPIPE, nullptr, &action);
    return action;
  }

  void set_up() {
    // httplib's default, SO_REUSEPORT, would let two workers listen on one port, each for a part of the requests.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    // An answer is several writes. Without this the last ones wait until the client confirms the first, which takes 40
    // ms.
    server_.set_tcp_nodelay(true);
    server_.set_payload_max_length(longest_request);
    server_.Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
      send(respond_(request.path, request.get_header_value("Accept")), response);
    });
  }

  /// In chunks, for which httplib ignores a header Range: one such header of 8 kB asked for 2,700 copies of a page.
  static void send(Page page, httplib::Response& response) {
    response.status = page.status;
    response.set_chunked_content_provider(
        page.content_type.c_str(), [body = std::move(page.body)](std::size_t offset, httplib::DataSink& sink) {
          if (offset < body.size()) return sink.write(body.data() + offset, std::min(piece, body.size() - offset));
          sink.done();
          return true;
        });
  }

  void bind(const std::string& name) {
    errno = 0;
    if (address_.port == 0) {
      const int port = server_.bind_to_any_port(address_.host.c_str());
      if (port > 0) {
        address_.port = port;
        return;
      }
    } else if (server_.bind_to_port(address_.host.c_str(), address_.port)) {
      return;
    }
    throw InvalidInput(name + " " + to_text(address_) +
                           ": cannot listen there: " + (errno != 0 ? std::strerror(errno) : "no such address"),
                       "another program may listen there, or the address may not be one of this machine");
  }

  ListenAddress address_;
  const Respond respond_;
  // httplib's constructor ignores SIGPIPE for the whole process, which may be a program that embeds the worker.
  const struct sigaction pipe_action_ = action_of_sigpipe();
  BoundedServer server_;
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

PageServer::PageServer(const std::string& name, const ListenAddress& address, Respond respond, const Limits& limits)
    : impl_(std::make_unique<Impl>(name, address, std::move(respond), limits)) {}
PageServer::~PageServer() = default;

const ListenAddress& PageServer::address() const noexcept { return impl_->address(); }

}  // namespace dogged::http
