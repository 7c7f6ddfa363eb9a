// dogged::testing::Server and Database.
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

#include <dogged/client.hpp>
#include <dogged/testing.hpp>

#include "db/connection.hpp"
#include "shared_server.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"

using dogged::test::eventually;
namespace fs = std::filesystem;

namespace {

constexpr dogged::Task<nlohmann::json> anything{"anything"};

/// $TMPDIR for as long as it lives, of which everyone may pass.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = "/tmp/dogged-testing-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = path;
    fs::permissions(path_, fs::perms::all);
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", path_.c_str(), 1);
  }
  ~TemporaryDirectory() {
    before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR");
    fs::remove_all(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] bool is_empty() const { return fs::is_empty(path_); }

 private:
  fs::path path_;
  std::optional<std::string> before_;
};

bool answers(const std::string& url) {
  try {
    const dogged::db::Connection connection{{.url = url}};
    return true;
  } catch (const dogged::ConnectionError&) {
    return false;
  }
}

/// One line of a pipe.
std::string read_line(int descriptor) {
  std::string line;
  for (char c = 0; read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

TEST_CASE("databases of a server are migrated, apart from each other, and dropped with their objects") {
  std::string gone;
  const dogged::testing::Database kept = server().database();
  {
    const dogged::testing::Database one = server().database();
    gone = one.url();
    CHECK(one.url() != kept.url());
    dogged::Client{one.url(), {.warns_of_undeclared = false}}.enqueue(anything, nlohmann::json::object());
    dogged::testing::require_enqueued(one.url(), anything);
    dogged::testing::require_none_enqueued(kept.url(), anything);
  }
  CHECK_FALSE(answers(gone));
  CHECK(answers(kept.url()));
}

TEST_CASE("a database is dropped although another session is connected to it") {
  std::optional<dogged::testing::Database> database{server().database()};
  const std::string url = database->url();
  const dogged::db::Connection open{{.url = url}};
  database.reset();
  CHECK_FALSE(answers(url));
}

TEST_CASE("a database can be moved, and takes its place") {
  dogged::testing::Database first = server().database();
  const std::string url = first.url();
  dogged::testing::Database second{std::move(first)};
  CHECK(second.url() == url);
  CHECK(answers(url));
  second = server().database();
  CHECK(second.url() != url);
  CHECK(answers(second.url()));
}

TEST_CASE("a server ends with its last database and leaves no file") {
  const TemporaryDirectory temporary;
  std::string url;
  {
    std::optional<dogged::testing::Server> own{std::in_place, "tenant_7"};
    const dogged::testing::Database database = own->database();
    url = database.url();
    own.reset();
    CHECK(answers(url));
    CHECK_FALSE(temporary.is_empty());
    CHECK_NOTHROW(dogged::Client{url, {.schema = "tenant_7"}});
  }
  CHECK_FALSE(answers(url));
  CHECK(temporary.is_empty());
}

TEST_CASE("a test process that is killed leaves no server and no file") {
  const TemporaryDirectory temporary;
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      dogged::testing::Server own;
      const dogged::testing::Database database = own.database();
      const std::string line = database.url() + "\n";
      if (write(ends[1], line.data(), line.size()) > 0) pause();
    } catch (const std::exception&) {
    }
    _exit(1);
  }
  close(ends[1]);
  const std::string url = read_line(ends[0]);
  close(ends[0]);
  CHECK(answers(url));
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(eventually([&] { return !answers(url); }));
  CHECK(eventually([&] { return temporary.is_empty(); }));
}

TEST_CASE("a child of the test process that exits leaves server and databases to its parent") {
  dogged::testing::Database database = server().database();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    { const dogged::testing::Database copy{std::move(database)}; }
    std::exit(0);  // destroys static objects: server()
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(answers(database.url()));
  CHECK(answers(server().database().url()));
}

TEST_CASE("a server that cannot be made says what is missing") {
  setenv("DOGGED_PG_BIN", "/nonexistent", 1);
  std::string message;
  try {
    const dogged::testing::Server own;
  } catch (const dogged::Error& error) {
    message = error.what();
  }
  unsetenv("DOGGED_PG_BIN");
  CHECK(message.find("/nonexistent") != std::string::npos);
  CHECK_THROWS_AS(dogged::testing::Server{"Upper Case"}, dogged::InvalidInput);
}
