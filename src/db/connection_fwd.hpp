// The names of db/connection.hpp, for headers that take a connection by reference.
#pragma once

namespace dogged::db {

class Connection;
class Row;
class Rows;

}  // namespace dogged::db
