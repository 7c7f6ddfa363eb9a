// See proxy.hpp. One thread, one poll(). Bytes that were read wait in a queue until they are due.
#include "proxy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace dogged::faults {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

int listen_on_loopback() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (::listen(fd, 64) != 0) fail("listen");
  return fd;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  return ntohs(address.sin_port);
}

/// -1 if no server listens. A Unix socket connects at once or not at all.
int connect_to_server(const std::filesystem::path& socket_file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_file.native().size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail(socket_file.c_str());
  }
  std::strcpy(address.sun_path, socket_file.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail("socket");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

/// One end of a connection, and the bytes to send to it.
class End {
 public:
  explicit End(int fd) : fd_(fd) {}
  ~End() { close(); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  void close() {
    forget();
    if (is_open()) ::close(std::exchange(fd_, -1));
  }
  /// Closed with a reset: bytes that the peer has not read yet are lost as well.
  void reset() {
    const linger at_once{1, 0};
    if (is_open()) (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  void send_later(std::string bytes, Clock::time_point due) { waiting_.push_back({std::move(bytes), due}); }
  void forget() { waiting_.clear(); }
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
  [[nodiscard]] bool is_due() const { return has_waiting() && waiting_.front().due <= Clock::now(); }
  [[nodiscard]] Clock::time_point due() const { return waiting_.front().due; }

  /// Sends the due bytes, as far as the socket takes them. Closes an end that takes no more.
  void send_due() {
    while (is_open() && is_due()) {
      std::string& bytes = waiting_.front().bytes;
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) return close();
      bytes.erase(0, static_cast<std::size_t>(sent));
      if (bytes.empty()) waiting_.pop_front();
    }
  }

  /// The bytes that have arrived; nothing if the other side is gone.
  [[nodiscard]] std::optional<std::string> receive() const {
    std::string bytes(64 * 1024, '\0');
    const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EAGAIN) return std::string{};
    if (count <= 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
  }

 private:
  struct Chunk {
    std::string bytes;
    Clock::time_point due;
  };
  int fd_;
  std::deque<Chunk> waiting_;
};

/// A completion, and the declarations of a worker that starts, are recognized by the table that they alone write. A
/// client's call is recognized by the function that notes its key. `text`: the executed statement.
bool is(Statement statement, std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (statement == Statement::commit) return text.starts_with("COMMIT");
  if (statement == Statement::call) return has(".enqueue(") || has(".note_call(");
  if (statement == Statement::definitions) return has("insert into") && has("task_definitions");
  return has("insert into") && has("task_attempts");
}

short events_wanted(const End& end) { return static_cast<short>(end.is_due() ? POLLIN | POLLOUT : POLLIN); }

}  // namespace

/// A worker's connection, and the connection to the server that was made for it.
class Proxy::Link {
 public:
  Link(int client_fd, int server_fd) : client(client_fd), server(server_fd) {}

  End client;
  End server;
  MessageSplitter from_client{MessageSplitter::From::client};
  MessageSplitter from_server{MessageSplitter::From::server};
  bool is_swallowed = false;
  std::optional<Action> after_answer = {};  ///< the server does a statement, and its answer is kept back

  [[nodiscard]] bool is_over() const { return !client.is_open() && !server.is_open(); }
  /// The statement that a message of the client has executed. In the simple protocol it is the Query; in the extended
  /// protocol, Bind names the prepared statement (Parse), which may have the empty name. Empty for other messages.
  [[nodiscard]] std::string_view executes(const Message& message) {
    const char* const begin = message.bytes.c_str() + 5;  // after the type and the length
    if (message.type == 'Q') return begin;
    if (message.type == 'P') texts_[begin] = begin + std::strlen(begin) + 1;
    if (message.type == 'B') return texts_[begin + std::strlen(begin) + 1];
    return {};
  }
  void cut() {
    client.reset();
    server.reset();
  }
  void swallow() {
    is_swallowed = true;
    client.forget();
    server.forget();
  }
  void end_swallowing() {
    if (is_swallowed) cut();
  }

 private:
  std::map<std::string, std::string> texts_;  // of prepared statements, by name
};

Proxy::Proxy(std::filesystem::path server_socket)
    : server_socket_(std::move(server_socket)), listener_(listen_on_loopback()), port_(port_of(listener_)) {
  thread_ = std::thread{[this] { run(); }};
}

Proxy::~Proxy() {
  {
    const detail::Lock lock{mutex_};
    ended_ = true;
  }
  wake_.wake();
  thread_.join();
  ::close(listener_);
}

std::string Proxy::url() const {
  return "postgresql://dogged@127.0.0.1:" + std::to_string(port_) + "/postgres?sslmode=disable&gssencmode=disable";
}

void Proxy::delay(milliseconds each_way) {
  const detail::Lock lock{mutex_};
  delay_ = each_way;
}

void Proxy::cut() {
  {
    const detail::Lock lock{mutex_};
    for (Link& link : links_) link.cut();
  }
  wake_.wake();
}

void Proxy::forget_connections() {
  {
    const detail::Lock lock{mutex_};
    for (Link& link : links_) link.swallow();
  }
  wake_.wake();
}

void Proxy::partition(bool on) {
  {
    const detail::Lock lock{mutex_};
    is_partitioned_ = on;
    for (Link& link : links_) on ? link.swallow() : link.end_swallowing();
  }
  wake_.wake();
}

void Proxy::cut_at(Statement statement, Side side) { set({statement, {Action::What::cut, side}}); }

void Proxy::forget_at(Statement statement, Side side) { set({statement, {Action::What::forget, side}}); }

void Proxy::set(Trap trap) {
  const detail::Lock lock{mutex_};
  trap_ = trap;
}

int Proxy::hits() const {
  const detail::Lock lock{mutex_};
  return hits_;
}

void Proxy::heal() {
  delay(milliseconds{0});
  partition(false);
  const detail::Lock lock{mutex_};
  trap_.reset();
}

void Proxy::run() {
  detail::Lock lock{mutex_};
  while (!ended_) {
    std::vector<pollfd> fds{{wake_.fd(), POLLIN, 0}, {listener_, POLLIN, 0}};
    std::optional<Clock::time_point> due;
    for (const Link& link : links_) {
      for (const End* end : {&link.client, &link.server}) {
        fds.push_back({end->fd(), events_wanted(*end), 0});  // poll passes over an end that is closed: its fd is -1
        if (end->has_waiting() && !end->is_due()) due = std::min(due.value_or(end->due()), end->due());
      }
    }
    const auto wait = due ? std::chrono::ceil<milliseconds>(*due - Clock::now()) : milliseconds{-1};
    lock.unlock();
    (void)::poll(fds.data(), fds.size(), due ? std::max(0, static_cast<int>(wait.count())) : -1);
    lock.lock();
    std::uint64_t count = 0;
    (void)!::read(wake_.fd(), &count, sizeof count);
    for (Link& link : links_) serve(link);
    links_.remove_if([](const Link& link) { return link.is_over(); });
    if (fds[1].revents != 0) accept_one();
  }
}

void Proxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const int at_once = 1;
  (void)::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  Link& link = links_.emplace_back(client, is_partitioned_ ? -1 : connect_to_server(server_socket_));
  if (is_partitioned_) return link.swallow();
  if (!link.server.is_open()) link.cut();
}

/// Takes the bytes that have arrived and sends the due ones. Sockets do not block, so that all may be tried.
void Proxy::serve(Link& link) {
  if (link.client.is_open()) from_client(link);
  if (link.server.is_open()) from_server(link);
  if (link.is_swallowed) return;
  link.client.send_due();
  link.server.send_due();
  // The end that is left gets the data that was on its way to it, and is closed then.
  if (!link.server.is_open() && !link.client.has_waiting()) link.client.close();
  if (!link.client.is_open() && !link.server.has_waiting()) link.server.close();
}

void Proxy::from_client(Link& link) {
  const auto bytes = link.client.receive();
  if (!bytes) return link.client.close();
  if (link.is_swallowed) return;
  link.from_client.add(*bytes);
  while (auto message = link.from_client.next()) {
    const auto action = spring_trap(link.executes(*message));
    if (action && action->side == Side::before_server) return spring(link, *action);
    if (action) link.after_answer = action;
    link.server.send_later(std::move(message->bytes), Clock::now() + delay_);
  }
}

void Proxy::from_server(Link& link) {
  const auto bytes = link.server.receive();
  if (!bytes) return link.server.close();
  if (link.is_swallowed) return;
  link.from_server.add(*bytes);
  while (auto message = link.from_server.next()) {
    constexpr char ready_for_query = 'Z';
    if (!link.after_answer) {
      link.client.send_later(std::move(message->bytes), Clock::now() + delay_);
    } else if (message->type == ready_for_query) {
      return spring(link, *link.after_answer);
    }
  }
}

void Proxy::spring(Link& link, const Action& action) { action.what == Action::What::cut ? link.cut() : link.swallow(); }

/// The action when `text` is to be executed, if `text` is the trap's statement.
std::optional<Proxy::Action> Proxy::spring_trap(std::string_view text) {
  if (!trap_ || !is(trap_->statement, text)) return std::nullopt;
  ++hits_;
  return std::exchange(trap_, std::nullopt)->action;
}

}  // namespace dogged::faults
