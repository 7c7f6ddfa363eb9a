// The import goes on where it was stopped, and imports each line once.
#include "import.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <dogged/testing.hpp>
#include <dogged/transaction.hpp>

#include "support/catch.hpp"

using dogged::StopReason;
using dogged::testing::FakeContext;

namespace {

/// A file of `count` lines, deleted with this object.
class People {
 public:
  explicit People(int count) : path_("people-" + std::to_string(::getpid()) + ".csv") {
    std::ofstream file{path_};
    for (int id = 1; id <= count; ++id) file << id << ",\"Ann\" \\ {" << id << "}\n";
  }
  ~People() { std::filesystem::remove(path_); }
  [[nodiscard]] Import args() const { return {path_}; }

 private:
  std::string path_;
};

std::string value(const dogged::testing::Database& database, const std::string& sql) {
  pqxx::connection connection{database.url()};
  pqxx::work transaction{connection};
  const std::string text = transaction.exec(sql)[0][0].c_str();
  transaction.commit();
  return text;
}

void make_table(const dogged::testing::Database& database) {
  pqxx::connection connection{database.url()};
  pqxx::work transaction{connection};
  transaction.exec("create table people (id bigint primary key, name text)");
  transaction.commit();
}

}  // namespace

TEST_CASE("an import that a shutdown stops goes on with the next line, and a worker runs it to its end") {
  dogged::testing::Server server;
  const dogged::testing::Database database = server.database();
  make_table(database);
  const People people{2500};

  FakeContext first{{.database_url = database.url()}};
  first.stop(StopReason::shutdown);
  CHECK_THROWS_AS(import_file(first, people.args()), dogged::Stopped);
  CHECK(value(database, "select count(*) from people") == "1000");

  // The second attempt imports nothing that the first has imported.
  value(database, "delete from people where id = 1 returning id");
  FakeContext second{{.attempt = 2, .database_url = database.url(), .checkpoints = first.checkpoints()}};
  CHECK(import_file(second, people.args()) == 2500);
  CHECK(value(database, "select count(*) || ' ' || max(id) || ' ' || max(name) filter (where id = 2500) from people") ==
        R"(2499 2500 "Ann" \ {2500})");

  dogged::Tasks tasks;
  tasks.add(&import_file, import_people);
  dogged::Client{database.url()}.enqueue(import_people, people.args());
  CHECK(dogged::testing::drain({.database_url = database.url()}, tasks).count(dogged::AttemptOutcome::succeeded) == 1);
  CHECK(value(database, "select count(*) from people") == "2500");
}

TEST_CASE("a line that is none fails the import, and the message says which") {
  dogged::testing::Server server;
  const dogged::testing::Database database = server.database();
  make_table(database);
  const People people{1500};
  {
    std::ofstream file{people.args().path, std::ios::app};
    file << "Ann\n";
  }
  FakeContext ctx{{.database_url = database.url()}};
  CHECK_THROWS_WITH(import_file(ctx, people.args()), "line 1501 is not ID,NAME: Ann");
  CHECK_THROWS_AS(import_file(ctx, Import{"missing"}), dogged::TaskError);
}
