// From a source's number or name to a row of the tables. The number or name is made an error code, and rows are found
// by their codes. So two spellings of a name (ServerBusy, server-busy) are one error, and a code has one category.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include <dogged/classification.hpp>
#include <dogged/detail/classification_tables.hpp>
#include <dogged/retry_after.hpp>

#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged {
namespace {

using detail::CodeRow;
using detail::CodeTable;
namespace tables = detail::tables;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

/// Builds an error code of A-Z 0-9 _. A code that becomes too long, or does not begin with a letter, is
/// `<prefix>UNKNOWN`.
class CodeBuilder {
 public:
  explicit CodeBuilder(std::string_view prefix) noexcept : prefix_(prefix) { append(prefix); }

  void append(char c) noexcept {
    if (size_ < text_.size()) text_[size_] = c;
    ++size_;
  }
  void append(std::string_view text) noexcept {
    for (char c : text) append(c);
  }

  [[nodiscard]] ErrorCode code() const noexcept {
    if (size_ > prefix_.size() && size_ <= text_.size() && is_upper(text_[0])) {
      return std::string_view{text_.data(), size_};
    }
    CodeBuilder unknown{prefix_};
    unknown.append("UNKNOWN");
    return std::string_view{unknown.text_.data(), unknown.size_};
  }

 private:
  std::string_view prefix_;
  std::array<char, limits::error_code_bytes> text_{};
  std::size_t size_ = 0;
};

ErrorCode code_of_number(std::string_view prefix, int number) noexcept {
  CodeBuilder builder{prefix};
  std::array<char, 12> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  if (number >= 0) builder.append({digits.data(), static_cast<std::size_t>(written.ptr - digits.data())});
  return builder.code();
}

/// Whether a word begins at name[i] of a CamelCase name: tB, 2T, and the T of EC2Throttled or XMLText.
bool begins_word(std::string_view name, std::size_t i) noexcept {
  if (i == 0 || !is_upper(name[i])) return false;
  if (is_lower(name[i - 1]) || is_digit(name[i - 1])) return true;
  return is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1]);
}

/// UPPER_SNAKE of a name in CamelCase, kebab-case, words or UPPER_SNAKE.
ErrorCode code_of_name(std::string_view prefix, std::string_view name) noexcept {
  const bool is_camel_case = std::any_of(name.begin(), name.end(), is_lower);
  CodeBuilder builder{prefix};
  bool between_words = false;
  bool is_first = true;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!detail::is_letter_or_digit(name[i])) {
      between_words = true;
      continue;
    }
    if (!is_first && (between_words || (is_camel_case && begins_word(name, i)))) builder.append('_');
    builder.append(to_upper(name[i]));
    between_words = is_first = false;
  }
  return builder.code();
}

const CodeRow* find_row(const CodeTable& table, int number) noexcept {
  const auto found = std::find_if(table.rows.begin(), table.rows.end(), [&](const CodeRow& row) {
    return row.number == number && number != CodeRow::no_number;
  });
  return found == table.rows.end() ? nullptr : &*found;
}

const CodeRow* find_row(const CodeTable& table, std::string_view code) noexcept {
  const auto found =
      std::find_if(table.rows.begin(), table.rows.end(), [&](const CodeRow& row) { return row.code == code; });
  return found == table.rows.end() ? nullptr : &*found;
}

const CodeRow* find_row_in_all(std::string_view code) noexcept {
  for (const CodeTable& table : tables::all) {
    if (const CodeRow* row = find_row(table, code)) return row;
  }
  return nullptr;
}

std::string_view without_prefix(std::string_view text, std::string_view prefix) noexcept {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html#operation-error-serialization: the text before a #
/// and the text after a colon are no part of the name.
std::string_view aws_name(std::string_view code) noexcept {
  code = code.substr(0, code.find(':'));
  if (const std::size_t hash = code.find('#'); hash != std::string_view::npos) code = code.substr(hash + 1);
  return without_prefix(code, "AWS.SimpleQueueService.");
}

std::string_view azure_name(std::string_view code) noexcept {
  return without_prefix(without_prefix(code, "com.microsoft:"), "amqp:");
}

/// Without its minus and what ends it.
std::string_view redis_line(std::string_view reply) noexcept {
  reply = without_prefix(reply, "-");
  return reply.substr(0, std::min(reply.find('\r'), reply.find('\n')));
}

/// The first word of the line, if it is a kind: upper case.
std::string_view redis_kind(std::string_view line) noexcept {
  const std::string_view word = line.substr(0, line.find(' '));
  const bool is_kind = std::all_of(word.begin(), word.end(), [](char c) { return is_upper(c) || is_digit(c); });
  return is_kind ? word : std::string_view{};
}

bool is_sqlstate(std::string_view text) noexcept {
  return text.size() == 5 && std::all_of(text.begin(), text.end(), [](char c) { return is_upper(c) || is_digit(c); });
}

const CodeTable& table_of(CodeSource source) noexcept {
  const auto* const found = std::find_if(std::begin(tables::all), std::end(tables::all),
                                         [&](const CodeTable& table) { return table.source == source; });
  return *found;
}

/// The source has said how long to wait.
Classification asked_to_wait(Classification failure, milliseconds wait) noexcept {
  failure.retry_after = wait;
  failure.precision = Precision::exact;
  return failure;
}

Classification with_wait(const HttpHeaders& headers, Classification failure) noexcept {
  if (const auto wait = parse_retry_after_ms(headers.retry_after_ms)) return asked_to_wait(failure, *wait);
  const auto seconds = parse_retry_after(headers.retry_after, headers.date, headers.now);
  return seconds ? asked_to_wait(failure, *seconds) : failure;
}

/// A provider that throttles guards itself for longer than a policy's first delays last. A limit of a rate lets
/// requests through again all the time, so that the policy's growing delays fit it better.
bool is_of_provider(std::string_view code) noexcept {
  return code == "PROVIDER_THROTTLING" || code.starts_with(tables::aws.prefix) ||
         code.starts_with(tables::azure.prefix);
}

/// With the wait of an error whose source has not said how long.
Classification unasked(Classification failure, const ErrorCode& key) noexcept {
  if (failure.category != Category::throttled || failure.retry_after || !is_of_provider(key.view())) return failure;
  failure.retry_after = provider_retry_after;
  failure.precision = Precision::about;
  return failure;
}

/// A6 has a 32-bit number. Another text means the same as a negative number: do not try again.
std::optional<milliseconds> pushback_wait(std::string_view pushback) noexcept {
  std::int32_t count = 0;
  const auto read = std::from_chars(pushback.data(), pushback.data() + pushback.size(), count);
  const bool is_number = read.ec == std::errc{} && read.ptr == pushback.data() + pushback.size();
  if (!is_number || count < 0) return std::nullopt;
  return std::min(milliseconds{count}, milliseconds{retry_after_max});
}

constexpr std::string_view to_text(CodeSource source) noexcept {
  constexpr std::array<std::string_view, 10> names = {"name", "http", "sqlstate", "curl",    "errno_number",
                                                      "grpc", "aws",  "azure",    "mongodb", "redis"};
  return names[static_cast<std::size_t>(source)];
}

}  // namespace

/// The error to classify: its name in the rows of a Classifier, and the table's row if there is one.
struct Classifier::Wanted {
  CodeSource source;
  ErrorCode key;
  const CodeRow* row;

  static Wanted by_code(CodeSource source, const ErrorCode& code) noexcept {
    return {source, code,
            source == CodeSource::name ? find_row_in_all(code.view()) : find_row(table_of(source), code.view())};
  }
  static Wanted by_name(CodeSource source, std::string_view name) noexcept {
    return by_code(source, code_of_name(table_of(source).prefix, name));
  }
  /// gRPC's and MongoDB's errors have a number and a name, which are one error.
  static Wanted by_number(CodeSource source, int number) noexcept {
    const CodeTable& table = table_of(source);
    const CodeRow* row = find_row(table, number);
    const bool has_name = row != nullptr && (source == CodeSource::grpc || source == CodeSource::mongodb);
    return {source, has_name ? ErrorCode{row->code} : code_of_number(table.prefix, number), row};
  }
  /// By the 5 of 503: HTTP_5XX.
  static Wanted http_class(int first_digit) noexcept {
    const CodeRow* row = find_row(tables::http, first_digit);
    return {CodeSource::http, row != nullptr ? ErrorCode{row->code} : "HTTP_UNKNOWN", row};
  }
};

const Classifier::OwnRow* Classifier::find_own(CodeSource source, const ErrorCode& key) const noexcept {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const OwnRow& row) { return row.source == source && row.key == key; });
  return found == rows_.end() ? nullptr : &*found;
}

std::optional<Classification> Classifier::find(const Wanted& wanted) const noexcept {
  if (const OwnRow* own = find_own(wanted.source, wanted.key)) {
    return unasked(
        {.category = own->category, .code = own->code, .retry_after = own->retry_after, .reason = own->reason},
        wanted.key);
  }
  if (wanted.row == nullptr) return std::nullopt;
  const ErrorCode& code = wanted.key.view() == wanted.row->code ? wanted.key : ErrorCode{wanted.row->code};
  return unasked({.category = wanted.row->category, .code = code, .reason = wanted.row->reason}, code);
}

Classification Classifier::find_or_unknown(const Wanted& wanted) const noexcept {
  if (const auto found = find(wanted)) return *found;
  return {.code = wanted.key, .reason = "not in the tables"};
}

/// For the sources whose tables say what an error is that they do not list, by the row `Other`.
Classification Classifier::find_or_other(const Wanted& wanted) const noexcept {
  if (const auto found = find(wanted)) return *found;
  return find_or_unknown(Wanted::by_name(wanted.source, "Other"));
}

/// The classification by class of an error that is not listed. The class's own code stands for all of a class that is
/// retried, so that a list can have it.
Classification Classifier::find_class_of(const Wanted& error, const Wanted& its_class) const noexcept {
  auto found = find(its_class);
  if (!found) return find_or_unknown(error);
  if (!is_retryable(found->category) && found->code == its_class.key) found->code = error.key;
  return *found;
}

Classification Classifier::http_status(int status) const noexcept {
  if (status < 100 || status > 599) {  // less are the classes
    return {.code = code_of_number(tables::http.prefix, status), .reason = "not an HTTP status"};
  }
  const Wanted error = Wanted::by_number(CodeSource::http, status);
  if (const auto found = find(error)) return *found;
  return find_class_of(error, Wanted::http_class(status / 100));
}

Classification Classifier::http(int status, const HttpHeaders& headers) const noexcept {
  return with_wait(headers, http_status(status));
}

Classification Classifier::sqlstate(std::string_view sqlstate) const noexcept {
  if (!is_sqlstate(sqlstate)) return {.code = "PG_UNKNOWN", .reason = "not an SQLSTATE"};
  const Wanted error = Wanted::by_name(CodeSource::sqlstate, sqlstate);
  if (const auto found = find(error)) return *found;
  return find_class_of(error, Wanted::by_name(CodeSource::sqlstate, sqlstate.substr(0, 2)));
}

Classification Classifier::curl(int code) const noexcept {
  return find_or_unknown(Wanted::by_number(CodeSource::curl, code));
}

Classification Classifier::errno_number(int number) const noexcept {
  return find_or_unknown(Wanted::by_number(CodeSource::errno_number, number));
}

/// A permanent failure keeps its own code: nothing else says why.
Classification Classifier::with_wait_of(const GrpcResponse& response, Classification failure) const noexcept {
  if (response.retry_pushback_ms.empty()) {
    if (!response.retry_delay) return failure;
    return asked_to_wait(failure, std::clamp(*response.retry_delay, milliseconds{0}, milliseconds{retry_after_max}));
  }
  const auto pushback = pushback_wait(response.retry_pushback_ms);
  if (!pushback && failure.category != Category::permanent) {
    return find_or_unknown(Wanted::by_name(CodeSource::grpc, "DO_NOT_RETRY"));
  }
  return pushback ? asked_to_wait(failure, *pushback) : failure;
}

Classification Classifier::grpc(int code, const GrpcResponse& response) const noexcept {
  return with_wait_of(response, find_or_unknown(Wanted::by_number(CodeSource::grpc, code)));
}

Classification Classifier::grpc(std::string_view code, const GrpcResponse& response) const noexcept {
  int number = 0;
  const auto read = std::from_chars(code.data(), code.data() + code.size(), number);
  if (read.ec == std::errc{} && read.ptr == code.data() + code.size()) return grpc(number, response);
  return with_wait_of(response, find_or_unknown(Wanted::by_name(CodeSource::grpc, code)));
}

Classification Classifier::aws(std::string_view code, const HttpHeaders& headers) const noexcept {
  return with_wait(headers, find_or_unknown(Wanted::by_name(CodeSource::aws, aws_name(code))));
}

Classification Classifier::azure(std::string_view code, const HttpHeaders& headers) const noexcept {
  return with_wait(headers, find_or_unknown(Wanted::by_name(CodeSource::azure, azure_name(code))));
}

Classification Classifier::mongodb(int code, std::span<const std::string_view> labels) const noexcept {
  const Wanted by_code = Wanted::by_number(CodeSource::mongodb, code < 1 ? CodeRow::no_number : code);
  const auto of_code = find(by_code);
  std::optional<Classification> retryable, overloaded;
  if (of_code && is_retryable(of_code->category)) retryable = of_code;
  for (std::string_view label : labels) {
    const auto found = find(Wanted::by_name(CodeSource::mongodb, label));
    if (!found) continue;
    if (found->category == Category::transient && !retryable) retryable = found;
    if (found->category == Category::throttled) overloaded = found;
  }
  if (!retryable && !of_code && code > 0) retryable = find_or_other(by_code);
  if (!retryable)
    return of_code.value_or(find_or_unknown(by_code));  // an overloaded server's error need not be retryable
  return overloaded.value_or(*retryable);
}

Classification Classifier::mongodb(int code, std::initializer_list<std::string_view> labels) const noexcept {
  return mongodb(code, std::span<const std::string_view>{labels.begin(), labels.size()});
}

Classification Classifier::redis(std::string_view error_line) const noexcept {
  const std::string_view line = redis_line(error_line);
  const std::string_view kind = redis_kind(line);
  if (kind.empty()) return {.code = "REDIS_UNKNOWN", .reason = "not a Redis error"};
  // Only ERR lines have rows that tell more than their kind. A longer line, perhaps of a megabyte, can match no row.
  const bool may_be_a_row = (kind == "ERR" || !rows_.empty()) && line.size() <= limits::error_code_bytes;
  if (const auto found = may_be_a_row ? find(Wanted::by_name(CodeSource::redis, line)) : std::nullopt) return *found;
  return find_or_other(Wanted::by_name(CodeSource::redis, kind));
}

Classification Classifier::name(std::string_view name) const noexcept {
  return find_or_unknown(Wanted::by_name(CodeSource::name, name));
}

namespace {

[[noreturn]] void refuse_name(CodeSource source, std::string_view name, const std::string& why) {
  throw InvalidInput("the name " + in_quotes(name) + " cannot be added to " + std::string{to_text(source)} + ": " +
                     why);
}

/// The row of the table by its name as it is written there: the errors of curl and errno are known by number.
const CodeRow& row_of_name(CodeSource source, std::string_view name) {
  Words names;
  for (const CodeRow& row : table_of(source).rows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  refuse_name(source, name, "its table has no such name" + suggestion(name, names) + "; add it by its number");
}

bool is_sqlstate_or_class(std::string_view text) {
  return is_sqlstate(text) || (text.size() == 2 && is_sqlstate("000" + std::string{text}));
}

void require_number(CodeSource source, int number) {
  const std::string of_source = std::string{to_text(source)} + " number " + std::to_string(number);
  switch (source) {
    case CodeSource::http:
      if (number < 100 || number > 599) throw InvalidInput("the " + of_source + " is not a status, 100 to 599");
      return;
    case CodeSource::curl:
    case CodeSource::errno_number:
    case CodeSource::grpc:
      if (number < 0) throw InvalidInput("the " + of_source + " is negative; it must be 0 or more");
      return;
    case CodeSource::mongodb:
      if (number < 1) throw InvalidInput("the " + of_source + " is not an error's; it must be 1 or more");
      return;
    default:
      throw InvalidInput("the " + of_source + " cannot be added: errors of this source have names");
  }
}

void require_retry_after(const std::optional<milliseconds>& wait) {
  if (!wait || (*wait >= milliseconds{0} && *wait <= limits::max_delay)) return;
  throw InvalidInput("retry_after is " + duration_to_text(*wait) + "; it must be 0 to 24h");
}

}  // namespace

Classifier& Classifier::set(CodeSource source, int number, const Row& row) {
  require_number(source, number);
  return set(Wanted::by_number(source, number), row);
}

Classifier& Classifier::set(CodeSource source, std::string_view name, const Row& row) {
  if (source == CodeSource::http) refuse_name(source, name, "its errors are statuses: give a number, 100 to 599");
  if (source == CodeSource::curl || source == CodeSource::errno_number) {
    return set(source, row_of_name(source, name).number, row);
  }
  if (source == CodeSource::sqlstate && !is_sqlstate_or_class(name)) {
    refuse_name(source, name, "it must be an SQLSTATE of five of 0-9 A-Z, or its class, the first two");
  }
  const bool has_numbers = source == CodeSource::grpc || source == CodeSource::mongodb;
  if (has_numbers && !name.empty() && std::all_of(name.begin(), name.end(), is_digit)) {
    refuse_name(source, name, "it is a number, by which no name is looked for; add it by its number");
  }
  if (source == CodeSource::redis) name = redis_line(name);
  if (source == CodeSource::redis && redis_kind(name).empty()) {
    refuse_name(source, name, "a Redis error begins with its kind, a word of A-Z 0-9");
  }
  if (source == CodeSource::aws) name = aws_name(name);
  if (source == CodeSource::azure) name = azure_name(name);
  const Wanted wanted = Wanted::by_name(source, name);
  if (wanted.key == code_of_name(table_of(source).prefix, {}) && wanted.row == nullptr) {
    refuse_name(source, name, "it makes no error code, which has 1 to 64 of A-Z 0-9 _");
  }
  return set(wanted, row);
}

Classifier& Classifier::set(const Wanted& wanted, const Row& row) {
  require_retry_after(row.retry_after);
  const std::string_view made = wanted.row != nullptr ? wanted.row->code : wanted.key.view();
  OwnRow own{wanted.source,   wanted.key,
             row.category,    ErrorCode{row.code.empty() ? made : row.code},
             row.retry_after, std::string{row.reason}};
  if (find_own(wanted.source, wanted.key) != nullptr) {
    std::erase_if(rows_, [&](const OwnRow& old) { return old.source == own.source && old.key == own.key; });
  }
  rows_.push_back(std::move(own));
  return *this;
}

Classification classify_http(int status, const HttpHeaders& headers) noexcept {
  return Classifier{}.http(status, headers);
}
Classification classify_sqlstate(std::string_view sqlstate) noexcept { return Classifier{}.sqlstate(sqlstate); }
Classification classify_curl(int code) noexcept { return Classifier{}.curl(code); }
Classification classify_errno(int number) noexcept { return Classifier{}.errno_number(number); }
Classification classify_grpc(int code, const GrpcResponse& response) noexcept {
  return Classifier{}.grpc(code, response);
}
Classification classify_grpc(std::string_view code, const GrpcResponse& response) noexcept {
  return Classifier{}.grpc(code, response);
}
Classification classify_aws(std::string_view code, const HttpHeaders& headers) noexcept {
  return Classifier{}.aws(code, headers);
}
Classification classify_azure(std::string_view code, const HttpHeaders& headers) noexcept {
  return Classifier{}.azure(code, headers);
}
Classification classify_mongodb(int code, std::span<const std::string_view> labels) noexcept {
  return Classifier{}.mongodb(code, labels);
}
Classification classify_mongodb(int code, std::initializer_list<std::string_view> labels) noexcept {
  return Classifier{}.mongodb(code, labels);
}
Classification classify_redis(std::string_view error_line) noexcept { return Classifier{}.redis(error_line); }
Classification classify_name(std::string_view name) noexcept { return Classifier{}.name(name); }

}  // namespace dogged
