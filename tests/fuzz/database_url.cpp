// Which database is used: an option, the environment, or the file of a dev server, which may hold anything.
#include "client/database_url.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "fuzz.hpp"

namespace fs = std::filesystem;

namespace {

/// The current directory, with a dev server's file in it, and no variable that comes before it.
class Place {
 public:
  Place() {
    for (const char* name : {"DATABASE_URL", "PGHOST", "PGDATABASE", "PGSERVICE"}) unsetenv(name);
    std::string name = fs::temp_directory_path() / "dogged-fuzz.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory can be made: " + name);
    directory_ = name;
    fs::create_directory(directory_ / dogged::dev::directory_name);
    fs::current_path(directory_);
  }
  ~Place() { fs::remove_all(directory_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void write(std::string_view text) const {
    std::ofstream file{directory_ / dogged::dev::directory_name / dogged::dev::url_file, std::ios::binary};
    file << text;
  }

 private:
  fs::path directory_;
};

}  // namespace

FUZZ_TARGET(database_url, input) {
  static const Place place;
  place.write(input);
  const std::string text{input};
  const std::string first_line = text.substr(0, text.find('\n'));
  try {
    const dogged::DatabaseUrl found = dogged::find_database_url("");
    require(found.url == first_line && found.is_dev_server, "the dev server's URL is its file's first line", found.url);
  } catch (const dogged::InvalidInput& error) {
    require(first_line.empty(), "a dev server that runs is found");
    require_sound_message(error);
  }
  if (!text.empty()) require(dogged::find_database_url(text).url == text, "--database-url comes before all else");
}
