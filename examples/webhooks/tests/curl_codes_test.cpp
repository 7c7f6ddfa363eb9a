// The numbers of libcurl's errors, which dogged's table holds without libcurl, against the real header.
#include <string_view>

#include <curl/curl.h>

#include <dogged/detail/classification_tables.hpp>

#include "support/catch.hpp"

namespace {

struct NamedCode {
  std::string_view name;
  CURLcode code;
};

#define CODE(name) \
  { #name, name }
constexpr NamedCode real_codes[] = {
    CODE(CURLE_UNSUPPORTED_PROTOCOL),
    CODE(CURLE_URL_MALFORMAT),
    CODE(CURLE_NOT_BUILT_IN),
    CODE(CURLE_COULDNT_RESOLVE_PROXY),
    CODE(CURLE_COULDNT_RESOLVE_HOST),
    CODE(CURLE_COULDNT_CONNECT),
    CODE(CURLE_WEIRD_SERVER_REPLY),
    CODE(CURLE_REMOTE_ACCESS_DENIED),
    CODE(CURLE_FTP_ACCEPT_TIMEOUT),
    CODE(CURLE_HTTP2),
    CODE(CURLE_PARTIAL_FILE),
    CODE(CURLE_OUT_OF_MEMORY),
    CODE(CURLE_OPERATION_TIMEDOUT),
    CODE(CURLE_RANGE_ERROR),
    CODE(CURLE_SSL_CONNECT_ERROR),
    CODE(CURLE_BAD_DOWNLOAD_RESUME),
    CODE(CURLE_BAD_FUNCTION_ARGUMENT),
    CODE(CURLE_INTERFACE_FAILED),
    CODE(CURLE_TOO_MANY_REDIRECTS),
    CODE(CURLE_UNKNOWN_OPTION),
    CODE(CURLE_SETOPT_OPTION_SYNTAX),
    CODE(CURLE_GOT_NOTHING),
    CODE(CURLE_SSL_ENGINE_NOTFOUND),
    CODE(CURLE_SSL_ENGINE_SETFAILED),
    CODE(CURLE_SEND_ERROR),
    CODE(CURLE_RECV_ERROR),
    CODE(CURLE_SSL_CERTPROBLEM),
    CODE(CURLE_SSL_CIPHER),
    CODE(CURLE_PEER_FAILED_VERIFICATION),
    CODE(CURLE_BAD_CONTENT_ENCODING),
    CODE(CURLE_FILESIZE_EXCEEDED),
    CODE(CURLE_USE_SSL_FAILED),
    CODE(CURLE_SEND_FAIL_REWIND),
    CODE(CURLE_SSL_ENGINE_INITFAILED),
    CODE(CURLE_LOGIN_DENIED),
    CODE(CURLE_TFTP_NOTFOUND),
    CODE(CURLE_TFTP_PERM),
    CODE(CURLE_REMOTE_DISK_FULL),
    CODE(CURLE_REMOTE_FILE_EXISTS),
    CODE(CURLE_TFTP_NOSUCHUSER),
    CODE(CURLE_SSL_CACERT_BADFILE),
    CODE(CURLE_REMOTE_FILE_NOT_FOUND),
    CODE(CURLE_AGAIN),
    CODE(CURLE_SSL_CRL_BADFILE),
    CODE(CURLE_SSL_ISSUER_ERROR),
    CODE(CURLE_NO_CONNECTION_AVAILABLE),
    CODE(CURLE_SSL_PINNEDPUBKEYNOTMATCH),
    CODE(CURLE_SSL_INVALIDCERTSTATUS),
    CODE(CURLE_HTTP2_STREAM),
    CODE(CURLE_AUTH_ERROR),
    CODE(CURLE_HTTP3),
    CODE(CURLE_QUIC_CONNECT_ERROR),
    CODE(CURLE_PROXY),
    CODE(CURLE_SSL_CLIENTCERT),
};
#undef CODE

bool is_real(const dogged::detail::CodeRow& row) {
  for (const NamedCode& real : real_codes) {
    if (real.name == row.name) return real.code == row.number;
  }
  return false;
}

}  // namespace

TEST_CASE("dogged's table has libcurl's numbers by their names") {
  for (const dogged::detail::CodeRow& row : dogged::detail::tables::curl_rows) {
    CAPTURE(row.name, row.number);
    CHECK(is_real(row));
  }
}
