// Maps exceptions to error codes, for code that throws its own types:
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
/// Classifies an exception of libpqxx; nothing for any other exception.
using PqxxClassifier = std::optional<Classification> (*)(const std::exception_ptr&) noexcept;
/// For <dogged/transaction.hpp>, because the library itself shows no libpqxx to its users. Every ExceptionMapper of
/// the program asks `classifier` after its own functions. Thread-safe.
bool use_pqxx_classifier(PqxxClassifier classifier) noexcept;
}  // namespace detail

/// The classification of an exception.
struct Mapped {
  Classification classification;
  /// what(), or that it is no std::exception.
  std::string message;
  /// The exception of the mapping function, as text; empty if the function did not throw. `classification` is
  /// UNHANDLED_EXCEPTION then, unknown, and `message` is still that of the original exception.
  std::string mapper_error = {};
};

/// Functions from exception types to classifications. The mapper asks them in the order in which they were added, like
/// catch clauses. The first whose type catches the exception wins, so add a derived type before its base. If none does:
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
/// A value: copies are independent. Many threads may call `map(exception)` at once if the functions allow it;
/// adding is not thread-safe.
class ExceptionMapper {
 public:
  /// `function` takes const Exception& and returns a Classification, or std::optional<Classification>: nothing
  /// passes the exception on to the next function. `reason` of the classification must be a literal, or outlive the
  /// result.
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

  /// Throws InvalidInput for a null `exception`. Passes on no exception of a mapping function.
  [[nodiscard]] Mapped map(const std::exception_ptr& exception) const;

 private:
  using Answer = std::optional<Classification>;

  std::vector<std::function<Answer(const std::exception_ptr&)>> functions_;
};

}  // namespace dogged
