// The migrations and schema files that were compiled in (cmake/EmbedSql.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace dogged::migrate {

struct SqlFile {
  std::string_view name;      ///< file name without .sql, for example 0001_tasks
  std::string_view checksum;  ///< SHA-256 of the text, hexadecimal
  std::string_view text;
};

[[nodiscard]] const std::vector<SqlFile>& embedded_migrations();
[[nodiscard]] const std::vector<SqlFile>& embedded_schema();

}  // namespace dogged::migrate
