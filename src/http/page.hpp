// A page over HTTP.
#pragma once

#include <string>

namespace dogged::http {

struct Page {
  int status = 200;  ///< of HTTP
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

}  // namespace dogged::http
