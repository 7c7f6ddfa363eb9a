// See import.hpp.
#include "import.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <dogged/transaction.hpp>

namespace {

/// Where the import goes on.
struct Position {
  std::int64_t offset = 0;  // in the file
  std::int64_t lines = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, offset, lines)

struct Batch {
  std::string ids = "{", names = "{";  // as arrays of PostgreSQL
  Position end;
};

/// An element of an array of texts.
std::string in_array(const std::string& text) {
  std::string element = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') element += '\\';
    element += letter;
  }
  return element + '"';
}

void add(Batch& batch, const std::string& line) {
  const std::size_t comma = line.find(',');
  if (comma == 0 || comma == std::string::npos || line.find_first_not_of("0123456789") != comma) {
    throw dogged::TaskError{"BAD_LINE", "line " + std::to_string(batch.end.lines + 1) + " is not ID,NAME: " + line};
  }
  const char* separator = batch.ids.size() > 1 ? "," : "";
  batch.ids += separator + line.substr(0, comma);
  batch.names += separator + in_array(line.substr(comma + 1));
  ++batch.end.lines;
}

/// The next lines; none at the end of the file.
Batch read_batch(std::ifstream& file, const Position& from) {
  Batch batch{.end = from};
  std::string line;
  for (int count = 0; count < lines_at_once && std::getline(file, line); ++count) {
    add(batch, line);
    batch.end.offset += static_cast<std::int64_t>(line.size()) + 1;
  }
  return batch;
}

/// The lines of the second before a worker died come again, and change nothing.
void write(pqxx::connection& connection, const Batch& batch) {
  pqxx::work transaction{connection};
  transaction.exec("insert into people (id, name) select * from unnest(" + transaction.quote(batch.ids + "}") +
                   "::bigint[], " + transaction.quote(batch.names + "}") + "::text[]) on conflict do nothing");
  transaction.commit();
}

}  // namespace

std::int64_t import_file(dogged::Context& ctx, const Import& args) {
  std::ifstream file{args.path};
  if (!file) throw dogged::TaskError{"FILE_MISSING", args.path + " cannot be read"};
  pqxx::connection connection{ctx.database_url()};

  auto at = ctx.checkpoint<Position>("lines");
  file.seekg(at->offset);
  while (true) {
    const Batch batch = read_batch(file, *at);
    if (batch.end.lines == at->lines) return at->lines;
    write(connection, batch);
    at.advance(batch.end);  // saves the place each second; at a shutdown saves it and throws
  }
}
