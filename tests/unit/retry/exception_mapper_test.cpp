// From exceptions to error codes: the order of mappings, the default mapping, and mappings that fail.
#include <filesystem>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <dogged/exception_mapper.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

template <class Exception>
std::exception_ptr thrown(Exception exception) {
  return std::make_exception_ptr(std::move(exception));
}

std::string code_of(const ExceptionMapper& mapper, const std::exception_ptr& exception) {
  const Mapped mapped = mapper.map(exception);
  return std::string{to_text(mapped.classification.category)} + " " + mapped.classification.code.str();
}

auto always(const char* code) {
  return [code](const auto&) { return Classification{.category = Category::permanent, .code = code}; };
}

struct Declined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct NoMessage : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

}  // namespace

TEST_CASE("A mapping gives its exception type a code, and keeps the message") {
  const ExceptionMapper mapper = ExceptionMapper{}.map<Declined>([](const Declined& error) {
    CHECK(std::string{error.what()} == "no funds");
    return Classification{.category = Category::throttled, .code = "DECLINED", .retry_after = 5s};
  });
  const Mapped mapped = mapper.map(thrown(Declined{"no funds"}));
  CHECK(mapped.classification.code == "DECLINED");
  CHECK(mapped.classification.retry_after == 5s);
  CHECK(mapped.message == "no funds");
  CHECK(mapped.mapper_error.empty());
}

TEST_CASE("The first mapping that catches wins, as catch clauses do") {
  ExceptionMapper base_first;
  base_first.map<std::runtime_error>(always("BASE")).map<Declined>(always("DERIVED"));
  ExceptionMapper derived_first;
  derived_first.map<Declined>(always("DERIVED")).map<std::runtime_error>(always("BASE"));
  CHECK(code_of(base_first, thrown(Declined{"x"})) == "permanent BASE");
  CHECK(code_of(derived_first, thrown(Declined{"x"})) == "permanent DERIVED");
  CHECK(code_of(derived_first, thrown(std::runtime_error{"x"})) == "permanent BASE");
  CHECK(code_of(derived_first, thrown(std::logic_error{"x"})) == "unknown UNHANDLED_EXCEPTION");
}

TEST_CASE("A mapping goes before what is mapped without one") {
  const ExceptionMapper mapper = ExceptionMapper{}.map<std::bad_alloc>(always("TOO_BIG"));
  CHECK(code_of(mapper, thrown(std::bad_alloc{})) == "permanent TOO_BIG");
}

TEST_CASE("A mapping that answers nothing lets the next be asked") {
  const ExceptionMapper mapper =
      ExceptionMapper{}
          .map<Declined>([](const Declined&) -> std::optional<Classification> { return std::nullopt; })
          .map<std::exception>(always("NEXT"));
  CHECK(code_of(mapper, thrown(Declined{"x"})) == "permanent NEXT");
}

TEST_CASE("System errors are mapped by errno") {
  const ExceptionMapper mapper;
  const auto code = [&](std::error_code error) { return code_of(mapper, thrown(std::system_error{error})); };
  CHECK(code(std::make_error_code(std::errc::connection_refused)) == "transient CONNECT_REFUSED");
  CHECK(code({ENOENT, std::system_category()}) == "permanent ERRNO_ENOENT");
  CHECK(code({4711, std::system_category()}) == "unknown ERRNO_4711");
  CHECK(code(std::make_error_code(std::future_errc::no_state)) == "unknown UNHANDLED_EXCEPTION");
  const auto full = std::make_error_code(std::errc::no_space_on_device);
  CHECK(code_of(mapper, thrown(std::filesystem::filesystem_error{"write", full})) == "transient ERRNO_ENOSPC");
}

TEST_CASE("The database's errors are mapped by SQLSTATE, and no connection is a failed one") {
  const ExceptionMapper mapper;
  CHECK(code_of(mapper, thrown(DatabaseError{"x", "", "40001"})) == "transient PG_40001");
  CHECK(code_of(mapper, thrown(DatabaseError{"x", "", ""})) == "unknown PG_UNKNOWN");
  CHECK(code_of(mapper, thrown(ConnectionError{"x", "", ""})) == "transient PG_08006");
  CHECK(code_of(mapper, thrown(ConnectionError{"x", "", "28P01"})) == "permanent PG_28P01");
}

TEST_CASE("No memory is OUT_OF_MEMORY, and transient") {
  CHECK(code_of({}, thrown(std::bad_alloc{})) == "transient OUT_OF_MEMORY");
}

TEST_CASE("What is not mapped is UNHANDLED_EXCEPTION with its message") {
  const ExceptionMapper mapper;
  CHECK(mapper.map(thrown(std::runtime_error{"out of luck"})).message == "out of luck");
  CHECK(mapper.map(thrown(NoMessage{})).message.empty());
  const Mapped number = mapper.map(thrown(17));
  CHECK(number.classification.code == codes::unhandled_exception);
  CHECK(number.message == "an exception that is not a std::exception");
}

TEST_CASE("An exception that is no std::exception can be mapped") {
  const ExceptionMapper mapper = ExceptionMapper{}.map<int>(
      [](int number) { return Classification{.code = number == 17 ? "SEVENTEEN" : "OTHER"}; });
  CHECK(code_of(mapper, thrown(17)) == "unknown SEVENTEEN");
}

TEST_CASE("A mapping that throws keeps the original exception, and both are told") {
  const ExceptionMapper mapper =
      ExceptionMapper{}
          .map<Declined>([](const Declined&) -> Classification { throw std::logic_error{"mapper broke"}; })
          .map<std::exception>(always("NEXT"));
  const Mapped mapped = mapper.map(thrown(Declined{"no funds"}));
  CHECK(mapped.classification.code == codes::unhandled_exception);
  CHECK(mapped.classification.category == Category::unknown);
  CHECK(mapped.message == "no funds");
  CHECK(mapped.mapper_error == "mapper broke");
}

TEST_CASE("A mapping that makes a code that is none is told as one that throws") {
  const ExceptionMapper mapper = ExceptionMapper{}.map<Declined>(
      [](const Declined&) { return Classification{.code = std::string{"not a code"}}; });
  const Mapped mapped = mapper.map(thrown(Declined{"no funds"}));
  CHECK(mapped.message == "no funds");
  CHECK_THAT(mapped.mapper_error, Catch::Matchers::Contains("the error code \"not a code\" is not"));
}

TEST_CASE("No exception is refused") { CHECK_THROWS_AS(ExceptionMapper{}.map(std::exception_ptr{}), InvalidInput); }
