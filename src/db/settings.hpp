// How a connection is made, and the schema that its statements name.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace dogged::db {

struct Settings {
  std::string url;  ///< a libpq connection string or URI; empty: libpq's PG* variables
  std::string schema = "dogged";
  std::string application_name = "dogged";
  /// After set_up_session: the server cancels a statement that takes longer (57014). The server ends a connection whose
  /// transaction is idle for a second, or whose answers are not read for that long. Each statement is prepared and
  /// planned once, by indexes. 0: none of this, and the session's state is not changed.
  std::chrono::milliseconds statement_timeout{0};
  /// A transaction pooler may be in between: each transaction makes the settings of statement_timeout anew. Each
  /// statement is planned each time, still by indexes.
  bool pooled = false;
  /// Without set_up_session: a statement that run() executes in a transaction of its own is prepared when it runs
  /// again. If the session turns out to be another one, as behind a transaction pooler, the connection goes on without
  /// preparing. So it does if a table was changed. Then settings() says false.
  bool prepares = false;
  /// Without set_up_session: the server ends an idle transaction, and its connection, after this time, so that its
  /// locks do not outlive a client that vanished. 0: never.
  std::chrono::milliseconds idle_in_transaction{3'000};
};

/// Throws InvalidInput unless `schema` is 1 to 48 of a-z 0-9 _ beginning with a letter or _. Such a name needs no
/// quotes, so it can replace `dogged.` in SQL text.
void require_schema_name(std::string_view schema);

/// `text` with every `dogged.` that begins a word replaced by `schema.`.
[[nodiscard]] std::string with_schema(std::string_view text, std::string_view schema);

}  // namespace dogged::db
