// The assertions on enqueued tasks.
#include <string>

#include <dogged/client.hpp>
#include <dogged/testing.hpp>

#include "shared_server.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using dogged::testing::AssertionFailed;
using dogged::testing::Database;
using dogged::testing::enqueued;
using dogged::testing::require_enqueued;
using dogged::testing::require_none_enqueued;

namespace enqueued_test {

struct Mail {
  std::string to;
  int copies = 1;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mail, to, copies)

constexpr dogged::Task<Mail> send_mail{"mail.send", {.queue = "mail", .version = 3}};
constexpr dogged::Task<std::string> read_mail{"mail.send"};
constexpr dogged::Task<Mail> burn_mail{"mail.burn"};

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const AssertionFailed& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("enqueued tasks are given with typed args and with what they were enqueued with") {
  const Database database = server().database();
  dogged::Client client{database.url(), {.warns_of_undeclared = false}};
  const auto run_at = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now() + 2h);
  const dogged::TaskId id =
      client.enqueue(send_mail, {.to = "a", .copies = 2},
                     {.run_at = run_at, .priority = -5, .trace_context = "00-1", .tags = {"tenant:42", "vip"}});
  const dogged::TaskId child = client.enqueue(send_mail, {.to = "c"}, {.expires_at = run_at + 1h, .parent = id});
  client.enqueue(burn_mail, {.to = "b"});

  const auto found = enqueued(database.url(), send_mail);
  REQUIRE(found.size() == 2);
  CHECK(found[0].id == id);
  CHECK(found[0].args.to == "a");
  CHECK(found[0].args.copies == 2);
  CHECK(found[0].queue == "mail");
  CHECK(found[0].run_at == run_at);
  CHECK(found[0].priority == -5);
  CHECK((found[0].tags == std::vector<std::string>{"tenant:42", "vip"}));
  CHECK(found[0].trace_context == "00-1");
  CHECK(found[0].status == "pending");
  CHECK(found[0].parent == 0);
  CHECK(found[0].args_version == 3);
  CHECK_FALSE(found[0].expires_at);
  CHECK(found[1].id == child);
  CHECK(found[1].parent == id);
  CHECK(found[1].expires_at == run_at + 1h);
}

TEST_CASE("a task is asserted without args, with options") {
  const Database database = server().database();
  CHECK(failure_of([&] {
          (void)require_enqueued(database.url(), send_mail, dogged::testing::LookOptions{.with_ended = true});
        }).find("there is no task at all") != std::string::npos);
  dogged::Client client{database.url(), {.warns_of_undeclared = false}};
  const dogged::TaskId id = client.enqueue(send_mail, {.to = "a"});
  client.cancel(id);
  CHECK(require_enqueued(database.url(), send_mail, dogged::testing::LookOptions{.with_ended = true}).id == id);
}

TEST_CASE("tasks that have ended are left out, unless they are asked for") {
  const Database database = server().database();
  dogged::Client client{database.url(), {.warns_of_undeclared = false}};
  client.cancel(client.enqueue(send_mail, {.to = "a"}));
  CHECK(enqueued(database.url(), send_mail).empty());
  require_none_enqueued(database.url(), send_mail);
  const auto ended = enqueued(database.url(), send_mail, {.with_ended = true});
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].status == "cancelled");
  CHECK(contains(failure_of([&] { require_none_enqueued(database.url(), send_mail, {.with_ended = true}); }),
                 "cancelled"));
}

TEST_CASE("a task is required by its args or by a predicate") {
  const Database database = server().database();
  dogged::Client client{database.url(), {.warns_of_undeclared = false}};
  client.enqueue(send_mail, {.to = "a"});
  const dogged::TaskId id = client.enqueue(send_mail, {.to = "b", .copies = 3});
  CHECK(require_enqueued(database.url(), send_mail, Mail{.to = "b", .copies = 3}).id == id);
  CHECK(require_enqueued(database.url(), send_mail, [](const auto& mail) { return mail.args.copies > 1; }).id == id);
  CHECK(require_enqueued(database.url(), send_mail).args.to == "a");
}

TEST_CASE("a failed assertion tells what was wanted and what there is instead") {
  const Database database = server().database();
  CHECK(contains(failure_of([&] { require_enqueued(database.url(), send_mail); }), "there is no task at all"));
  dogged::Client client{database.url(), {.warns_of_undeclared = false}};
  const std::string mail = std::to_string(client.enqueue(send_mail, {.to = "a"}));
  const std::string burnt = std::to_string(client.enqueue(burn_mail, {.to = "b"}));

  const std::string by_args = failure_of([&] { require_enqueued(database.url(), send_mail, Mail{.to = "c"}); });
  CHECK(contains(by_args, R"(mail.send with args {"copies":1,"to":"c"})"));
  CHECK(contains(by_args, mail + R"( mail.send {"to": "a", "copies": 1} in mail, pending)"));
  CHECK(contains(by_args, burnt + " mail.burn "));
  CHECK(contains(failure_of([&] { require_enqueued(database.url(), send_mail, [](const auto&) { return false; }); }),
                 "the predicate"));
  const std::string none = failure_of([&] { require_none_enqueued(database.url(), send_mail); });
  CHECK(contains(none, mail + " mail.send "));
  CHECK_FALSE(contains(none, "mail.burn"));
}

TEST_CASE("args that do not fit the type of the key are a failed assertion that names the task") {
  const Database database = server().database();
  dogged::Client client{database.url(), {.warns_of_undeclared = false}};
  const std::string id = std::to_string(client.enqueue(send_mail, {.to = "a"}));
  CHECK(contains(failure_of([&] { static_cast<void>(enqueued(database.url(), read_mail)); }), "task " + id));
}

}  // namespace enqueued_test
