// From exceptions to error codes, for code that throws its own types:
//
//   const dogged::ExceptionMapper mapper = dogged::ExceptionMapper{}
//       .map<PaymentDeclined>([](const PaymentDeclined&) {
//         return dogged::Classification{.category = dogged::Category::permanent, .code = "PAYMENT_DECLINED"};
//       })
//       .map<HttpError>([](const HttpError& e) { return dogged::classify_http(e.status); });
//   const dogged::Mapped mapped = mapper.map(std::current_exception());
//
// Usable without a database.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dogged/classification.hpp>

namespace dogged {

namespace detail {
/// What an exception of libpqxx amounts to; nothing for any other exception.
using PqxxClassifier = std::optional<Classification> (*)(const std::exception_ptr&) noexcept;
/// For <dogged/transaction.hpp>, since the library itself shows no libpqxx to its users: every ExceptionMapper of the
/// program asks `classifier` after its own functions. Thread-safe.
bool use_pqxx_classifier(PqxxClassifier classifier) noexcept;
}  // namespace detail

/// What an exception amounts to.
struct Mapped {
  Classification classification;
  /// what(), or that it is no std::exception.
  std::string message;
  /// What the mapping function threw, empty if it did not: `classification` is UNHANDLED_EXCEPTION then, unknown, and
  /// `message` is still the original exception's.
  std::string mapper_error = {};
};

/// Functions from exception types to classifications, asked in the order in which they were added, as catch clauses
/// are: the first whose type catches the exception wins, so add a derived type before its base. Where none does:
///
///   std::system_error   of errno (generic_category, system_category, or a category that has a default condition of
///                       errno): as classify_errno. std::filesystem::filesystem_error is one
///   std::bad_alloc      OUT_OF_MEMORY, transient
///   DatabaseError       by its sqlstate(), as classify_sqlstate; ConnectionError with an empty one: PG_08006,
///                       connection_failure
///   libpqxx's           in a program that includes <dogged/transaction.hpp>: by their SQLSTATE, and those without one
///                       by their type (a deadlock is PG_40P01, a lost connection PG_08006)
///   all others          UNHANDLED_EXCEPTION, unknown
///
/// A value: copies are independent. `map(exception)` may be called from many threads at once, as far as the functions
/// may; adding may not.
class ExceptionMapper {
 public:
  /// `function` takes const Exception& and returns a Classification, or std::optional<Classification>: nothing lets the
  /// next be asked. `reason` of what it returns must be a literal, or outlive the use of the result.
  template <class Exception, class Function>
  ExceptionMapper& map(Function function) & {
    static_assert(std::is_invocable_r_v<std::optional<Classification>, const Function&, const Exception&>,
                  "dogged: the function must be callable as function(const Exception&) and return a "
                  "dogged::Classification or std::optional<dogged::Classification>");
    functions_.emplace_back([function = std::move(function)](const std::exception_ptr& exception) -> Answer {
      try {
        std::rethrow_exception(exception);
      } catch (const Exception& caught) {
        return function(caught);
      } catch (...) {
        return std::nullopt;
      }
    });
    return *this;
  }
  template <class Exception, class Function>
  ExceptionMapper&& map(Function function) && {
    return std::move(map<Exception>(std::move(function)));
  }

  /// Throws InvalidInput for a null `exception`, and nothing that a mapping function throws.
  [[nodiscard]] Mapped map(const std::exception_ptr& exception) const;

 private:
  using Answer = std::optional<Classification>;

  std::vector<std::function<Answer(const std::exception_ptr&)>> functions_;
};

}  // namespace dogged
