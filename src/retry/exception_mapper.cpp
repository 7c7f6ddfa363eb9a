// dogged's own mapping of exceptions, which applies after the mappings of the user.
#include <atomic>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <dogged/error.hpp>
#include <dogged/exception_mapper.hpp>

namespace dogged {
namespace {

std::atomic<detail::PqxxClassifier> pqxx_classifier{nullptr};

Classification unhandled(std::string_view reason) { return {.code = codes::unhandled_exception, .reason = reason}; }

Classification classify_system_error(const std::system_error& error) {
  const std::error_condition condition = error.code().default_error_condition();
  if (condition.category() == std::generic_category() || condition.category() == std::system_category()) {
    return classify_errno(condition.value());
  }
  return unhandled("an error category that is not errno's");
}

Classification classify_builtin(const std::exception_ptr& exception) {
  if (const auto of_pqxx = pqxx_classifier.load()) {
    if (const auto classification = of_pqxx(exception)) return *classification;
  }
  try {
    std::rethrow_exception(exception);
  } catch (const ConnectionError& error) {
    return classify_sqlstate(error.sqlstate().empty() ? "08006" : error.sqlstate());
  } catch (const DatabaseError& error) {
    return classify_sqlstate(error.sqlstate());
  } catch (const std::system_error& error) {
    return classify_system_error(error);
  } catch (const std::bad_alloc&) {
    return classify_name("OUT_OF_MEMORY");
  } catch (...) {
    return unhandled("no mapping takes this exception");
  }
}

std::string message_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    const char* message = error.what();
    return message != nullptr ? message : "";
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

bool detail::use_pqxx_classifier(PqxxClassifier classifier) noexcept {
  pqxx_classifier = classifier;
  return true;
}

Mapped ExceptionMapper::map(const std::exception_ptr& exception) const {
  if (!exception) throw InvalidInput("the exception to map is null; call map inside a catch clause");
  std::string message = message_of(exception);
  try {
    for (const auto& function : functions_) {
      if (const Answer answer = function(exception)) return {*answer, std::move(message)};
    }
  } catch (...) {
    return {unhandled("the mapping function failed"), std::move(message), message_of(std::current_exception())};
  }
  return {classify_builtin(exception), std::move(message)};
}

}  // namespace dogged
