// Every error that dogged knows by itself, its advice on trying again, and its source. Each source has a table. The
// lists of <dogged/code_sets.hpp> and the functions of <dogged/classification.hpp> are made of these rows.
//
// A row's error code is made of the source's name or number: HTTP_503, PG_40001, CURL_23, ERRNO_EAGAIN,
// GRPC_UNAVAILABLE, AWS_SLOW_DOWN, AZURE_SERVER_BUSY, MONGODB_WRITE_CONFLICT, REDIS_LOADING. Where libcurl and errno
// tell the same end of a connection, both give the one code of connection_rows. A code has one category everywhere.
#pragma once

#include <cerrno>
#include <span>
#include <string_view>

#include <dogged/codes.hpp>

namespace dogged::detail {

struct CodeRow {
  static constexpr int no_number = -1;

  constexpr CodeRow(int row_number, std::string_view row_name, std::string_view row_code, Category row_category,
                    std::string_view row_reason, std::string_view row_source = {}) noexcept
      : number(row_number),
        name(row_name),
        code(row_code),
        category(row_category),
        reason(row_reason),
        source(row_source) {}
  constexpr CodeRow(std::string_view row_name, std::string_view row_code, Category row_category,
                    std::string_view row_reason, std::string_view row_source = {}) noexcept
      : CodeRow(no_number, row_name, row_code, row_category, row_reason, row_source) {}

  int number;             ///< the source's, no_number where it has only names
  std::string_view name;  ///< the source's
  std::string_view code;  ///< dogged's
  Category category;
  std::string_view reason;  ///< for people
  std::string_view source;  ///< a URL, where it is not the table's
};

struct CodeTable {
  CodeSource source;
  std::string_view prefix;  ///< of the codes that are made of what the table does not list
  std::string_view url;     ///< the source of rows that name no other
  std::span<const CodeRow> rows;
};

namespace tables {
using enum Category;

/// Names that programs give to errors, and that no document of the service lists.
inline constexpr std::string_view client_code = "a name of client code; no document of the service lists it";

/// The errors that any service may give a name to.
inline constexpr CodeRow base_rows[] = {
    {"TemporaryServiceUnavailable", "TEMPORARY_SERVICE_UNAVAILABLE", transient, "the service is down for now"},
    {"NetworkTimeout", "NETWORK_TIMEOUT", transient, "no answer in time"},
    {"TransientDatabaseError", "TRANSIENT_DATABASE_ERROR", transient, "the database could not do it now"},
    {"RateLimitExceeded", "RATE_LIMIT_EXCEEDED", throttled, "too many requests in the time"},
    {"ProviderThrottling", "PROVIDER_THROTTLING", throttled, "the provider slows its callers down"},
    {"InvalidMessage", "INVALID_MESSAGE", permanent, "the message cannot be understood"},
    {"AuthenticationFailure", "AUTHENTICATION_FAILURE", permanent, "the credentials are wrong"},
    {"AuthorizationFailure", "AUTHORIZATION_FAILURE", permanent, "the caller may not do it"},
    {"ValidationError", "VALIDATION_ERROR", permanent, "the request breaks a rule"},
    {"PermanentServiceError", "PERMANENT_SERVICE_ERROR", permanent, "the service says that it will not work"},
};
inline constexpr CodeTable base{CodeSource::name, "", "the base set of dogged", base_rows};

/// How an exchange over a network ends without an answer, whichever library tells it.
inline constexpr CodeRow connection_rows[] = {
    {"DNS_FAILURE", "DNS_FAILURE", transient, "the host's name has no address"},
    {"CONNECT_REFUSED", "CONNECT_REFUSED", transient, "nobody listens on the port"},
    {"CONNECT_TIMEOUT", "CONNECT_TIMEOUT", transient, "no connection in time"},
    {"CONNECT_FAILED", "CONNECT_FAILED", transient, "no connection: no route, or the network is down"},
    {"CONNECTION_RESET", "CONNECTION_RESET", transient, "the connection ended before the answer did"},
    {"RESPONSE_TIMEOUT", "RESPONSE_TIMEOUT", transient, "no complete answer in time"},
    {"TLS_ERROR", "TLS_ERROR", permanent, "the TLS handshake failed, or a certificate is not trusted"},
    {"INVALID_URL", "INVALID_URL", permanent, "not a URL, or a scheme that is not supported"},
    {"BAD_RESPONSE", "BAD_RESPONSE", permanent, "what came back does not follow the protocol"},
};
inline constexpr CodeTable connection{CodeSource::name, "", "the connection outcomes of dogged", connection_rows};

inline constexpr std::string_view webdav = "https://www.rfc-editor.org/rfc/rfc4918#section-11";
inline constexpr std::string_view cloudflare =
    "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/";

/// A one-digit status stands for the unlisted statuses of its class: section 15 has 499 read as 400, and 599 as 500. A
/// 5xx says that the server has failed, not that the request is wrong (15.6), so that trying again may help.
inline constexpr CodeRow http_rows[] = {
    {3, "3xx", "HTTP_3XX", permanent, "a redirect that was not followed"},
    {4, "4xx", "HTTP_4XX", permanent, "the request is wrong"},
    {5, "5xx", "HTTP_5XX", transient, "the server failed"},
    {401, "Unauthorized", "HTTP_401", permanent, "the credentials are missing or wrong"},
    {403, "Forbidden", "HTTP_403", permanent, "the caller may not do it"},
    {404, "Not Found", "HTTP_404", permanent, "there is no such resource"},
    {408, "Request Timeout", "HTTP_408", transient, "the request came too slowly; it may be repeated"},
    {409, "Conflict", "HTTP_409", permanent, "the resource's state is in the way"},
    {410, "Gone", "HTTP_410", permanent, "the resource will not come back"},
    {421, "Misdirected Request", "HTTP_421", transient, "another connection may reach the right server"},
    {422, "Unprocessable Content", "HTTP_422", permanent, "the content breaks a rule"},
    {423, "Locked", "HTTP_423", transient, "somebody holds a lock on the resource", webdav},
    {425, "Too Early", "HTTP_425", transient, "sent before the handshake's end; it may be repeated",
     "https://www.rfc-editor.org/rfc/rfc8470#section-5.2"},
    {429, "Too Many Requests", "HTTP_429", throttled, "too many requests in the time",
     "https://www.rfc-editor.org/rfc/rfc6585#section-4"},
    {500, "Internal Server Error", "HTTP_500", transient, "the server failed"},
    {501, "Not Implemented", "HTTP_501", permanent, "the server cannot do it"},
    {502, "Bad Gateway", "HTTP_502", transient, "the server behind the gateway failed"},
    {503, "Service Unavailable", "HTTP_503", transient, "overloaded or in maintenance"},
    {504, "Gateway Timeout", "HTTP_504", transient, "the server behind the gateway was late"},
    {505, "HTTP Version Not Supported", "HTTP_505", permanent, "the server refuses this version of HTTP"},
    {507, "Insufficient Storage", "HTTP_507", transient, "the server's storage is full for now", webdav},
    {508, "Loop Detected", "HTTP_508", permanent, "the resources refer to each other in a circle",
     "https://www.rfc-editor.org/rfc/rfc5842#section-7.2"},
    {511, "Network Authentication Required", "HTTP_511", permanent, "the network wants a login first",
     "https://www.rfc-editor.org/rfc/rfc6585#section-6"},
    {520, "Unknown Error", "HTTP_520", transient, "the server behind the proxy gave no valid answer", cloudflare},
    {521, "Web Server Is Down", "HTTP_521", transient, "the server behind the proxy refused", cloudflare},
    {522, "Connection Timed Out", "HTTP_522", transient, "the server behind the proxy did not connect", cloudflare},
    {523, "Origin Is Unreachable", "HTTP_523", transient, "the server behind the proxy has no route", cloudflare},
    {524, "A Timeout Occurred", "HTTP_524", transient, "the server behind the proxy was late", cloudflare},
    {525, "SSL Handshake Failed", "HTTP_525", permanent, "TLS failed behind the proxy", cloudflare},
    {526, "Invalid SSL Certificate", "HTTP_526", permanent, "a certificate behind the proxy is wrong", cloudflare},
};
inline constexpr CodeTable http{CodeSource::http, "HTTP_", "https://www.rfc-editor.org/rfc/rfc9110#section-15",
                                http_rows};

/// A two-character name stands for the unlisted names of its class.
inline constexpr CodeRow sqlstate_rows[] = {
    {"08", "PG_08", transient, "the connection failed"},
    {"08000", "PG_08000", transient, "connection_exception"},
    {"08001", "PG_08001", transient, "sqlclient_unable_to_establish_sqlconnection"},
    {"08003", "PG_08003", transient, "connection_does_not_exist"},
    {"08004", "PG_08004", transient, "sqlserver_rejected_establishment_of_sqlconnection"},
    {"08006", "PG_08006", transient, "connection_failure"},
    {"08007", "PG_08007", transient, "transaction_resolution_unknown: it may have been committed"},
    {"08P01", "PG_08P01", transient, "protocol_violation: what PgBouncer says of its own troubles",
     "https://github.com/pgbouncer/pgbouncer/blob/master/src/objects.c"},
    {"0A", "PG_0A", permanent, "feature_not_supported"},
    {"21", "PG_21", permanent, "cardinality_violation"},
    {"22", "PG_22", permanent, "the data is wrong"},
    {"23", "PG_23", permanent, "a constraint is violated"},
    {"25", "PG_25", permanent, "the transaction's state does not allow it"},
    {"25006", "PG_25006", transient, "read_only_sql_transaction: a standby, until the connection is made again"},
    {"25P03", "PG_25P03", transient, "idle_in_transaction_session_timeout"},
    {"25P04", "PG_25P04", transient, "transaction_timeout"},
    {"28", "PG_28", permanent, "the login is wrong"},
    {"2B", "PG_2B", permanent, "dependent objects still exist"},
    {"3D", "PG_3D", permanent, "there is no such database"},
    {"3F", "PG_3F", permanent, "there is no such schema"},
    {"40", "PG_40", transient, "the transaction was rolled back"},
    {"40000", "PG_40000", transient, "transaction_rollback"},
    {"40001", "PG_40001", transient, "serialization_failure"},
    {"40002", "PG_40002", permanent, "transaction_integrity_constraint_violation"},
    {"40003", "PG_40003", transient, "statement_completion_unknown"},
    {"40P01", "PG_40P01", transient, "deadlock_detected"},
    {"42", "PG_42", permanent, "the statement is wrong, or not allowed"},
    {"44", "PG_44", permanent, "with_check_option_violation"},
    {"53", "PG_53", transient, "the server is short of a resource"},
    {"53000", "PG_53000", transient, "insufficient_resources"},
    {"53100", "PG_53100", transient, "disk_full"},
    {"53200", "PG_53200", transient, "out_of_memory"},
    {"53300", "PG_53300", transient, "too_many_connections"},
    {"53400", "PG_53400", permanent, "configuration_limit_exceeded: the same statement exceeds it again"},
    {"54", "PG_54", permanent, "a limit of the program is exceeded"},
    {"55", "PG_55", permanent, "the object is not in the state that this needs"},
    {"55006", "PG_55006", transient, "object_in_use"},
    {"55P03", "PG_55P03", transient, "lock_not_available"},
    {"57P01", "PG_57P01", transient, "admin_shutdown"},
    {"57P02", "PG_57P02", transient, "crash_shutdown"},
    {"57P03", "PG_57P03", transient, "cannot_connect_now"},
    {"57P04", "PG_57P04", permanent, "database_dropped"},
    {"57P05", "PG_57P05", transient, "idle_session_timeout"},
    {"58000", "PG_58000", transient, "system_error"},
    {"58030", "PG_58030", transient, "io_error"},
    {"72000", "PG_72000", transient, "snapshot_too_old"},
    {"F0", "PG_F0", permanent, "the server's configuration file is wrong"},
    {"XX001", "PG_XX001", permanent, "data_corrupted"},
    {"XX002", "PG_XX002", permanent, "index_corrupted"},
};
inline constexpr CodeTable sqlstate{CodeSource::sqlstate, "PG_",
                                    "https://www.postgresql.org/docs/current/errcodes-appendix.html", sqlstate_rows};

/// 28 does not say whether there was a connection: RESPONSE_TIMEOUT is the careful reading, as the request may have
/// been acted on.
inline constexpr CodeRow curl_rows[] = {
    {1, "CURLE_UNSUPPORTED_PROTOCOL", "INVALID_URL", permanent, "the URL's scheme is not supported"},
    {3, "CURLE_URL_MALFORMAT", "INVALID_URL", permanent, "not a URL"},
    {4, "CURLE_NOT_BUILT_IN", "CURL_4", permanent, "this libcurl was built without it"},
    {5, "CURLE_COULDNT_RESOLVE_PROXY", "DNS_FAILURE", transient, "the proxy's name has no address"},
    {6, "CURLE_COULDNT_RESOLVE_HOST", "DNS_FAILURE", transient, "the host's name has no address"},
    {7, "CURLE_COULDNT_CONNECT", "CONNECT_FAILED", transient, "no connection; CURLINFO_OS_ERRNO says why"},
    {8, "CURLE_WEIRD_SERVER_REPLY", "BAD_RESPONSE", permanent, "the answer cannot be read"},
    {9, "CURLE_REMOTE_ACCESS_DENIED", "CURL_9", permanent, "the server denies access"},
    {12, "CURLE_FTP_ACCEPT_TIMEOUT", "CONNECT_TIMEOUT", transient, "the server did not connect back in time"},
    {16, "CURLE_HTTP2", "CONNECTION_RESET", transient, "HTTP/2 framing broke"},
    {18, "CURLE_PARTIAL_FILE", "CONNECTION_RESET", transient, "the answer ended early"},
    {27, "CURLE_OUT_OF_MEMORY", "OUT_OF_MEMORY", transient, "no memory"},
    {28, "CURLE_OPERATION_TIMEDOUT", "RESPONSE_TIMEOUT", transient, "not done in time"},
    {33, "CURLE_RANGE_ERROR", "CURL_33", permanent, "the server does not do ranges"},
    {35, "CURLE_SSL_CONNECT_ERROR", "TLS_ERROR", permanent, "the TLS handshake failed"},
    {36, "CURLE_BAD_DOWNLOAD_RESUME", "CURL_36", permanent, "the offset is beyond the end"},
    {43, "CURLE_BAD_FUNCTION_ARGUMENT", "CURL_43", permanent, "libcurl was called wrongly"},
    {45, "CURLE_INTERFACE_FAILED", "CURL_45", permanent, "the outgoing interface cannot be used"},
    {47, "CURLE_TOO_MANY_REDIRECTS", "CURL_47", permanent, "the redirects do not end"},
    {48, "CURLE_UNKNOWN_OPTION", "CURL_48", permanent, "libcurl does not know the option"},
    {49, "CURLE_SETOPT_OPTION_SYNTAX", "CURL_49", permanent, "an option's value is wrong"},
    {52, "CURLE_GOT_NOTHING", "CONNECTION_RESET", transient, "the server closed without an answer"},
    {53, "CURLE_SSL_ENGINE_NOTFOUND", "TLS_ERROR", permanent, "there is no such crypto engine"},
    {54, "CURLE_SSL_ENGINE_SETFAILED", "TLS_ERROR", permanent, "the crypto engine cannot be used"},
    {55, "CURLE_SEND_ERROR", "CONNECTION_RESET", transient, "sending failed"},
    {56, "CURLE_RECV_ERROR", "CONNECTION_RESET", transient, "receiving failed"},
    {58, "CURLE_SSL_CERTPROBLEM", "TLS_ERROR", permanent, "the client's certificate is wrong"},
    {59, "CURLE_SSL_CIPHER", "TLS_ERROR", permanent, "the cipher cannot be used"},
    {60, "CURLE_PEER_FAILED_VERIFICATION", "TLS_ERROR", permanent, "the server's certificate is not trusted"},
    {61, "CURLE_BAD_CONTENT_ENCODING", "BAD_RESPONSE", permanent, "the answer's encoding is not known"},
    {63, "CURLE_FILESIZE_EXCEEDED", "CURL_63", permanent, "the answer is larger than allowed"},
    {64, "CURLE_USE_SSL_FAILED", "TLS_ERROR", permanent, "the wanted level of TLS failed"},
    {65, "CURLE_SEND_FAIL_REWIND", "CURL_65", transient, "the body could not be sent a second time"},
    {66, "CURLE_SSL_ENGINE_INITFAILED", "TLS_ERROR", permanent, "the crypto engine did not start"},
    {67, "CURLE_LOGIN_DENIED", "CURL_67", permanent, "the login is wrong"},
    {68, "CURLE_TFTP_NOTFOUND", "CURL_68", permanent, "there is no such file"},
    {69, "CURLE_TFTP_PERM", "CURL_69", permanent, "the server denies access"},
    {70, "CURLE_REMOTE_DISK_FULL", "CURL_70", transient, "the server's disk is full for now"},
    {73, "CURLE_REMOTE_FILE_EXISTS", "CURL_73", permanent, "the file is there already"},
    {74, "CURLE_TFTP_NOSUCHUSER", "CURL_74", permanent, "there is no such user"},
    {77, "CURLE_SSL_CACERT_BADFILE", "TLS_ERROR", permanent, "the file of trusted certificates cannot be read"},
    {78, "CURLE_REMOTE_FILE_NOT_FOUND", "CURL_78", permanent, "there is no such file"},
    {81, "CURLE_AGAIN", "CURL_81", transient, "the socket is not ready"},
    {82, "CURLE_SSL_CRL_BADFILE", "TLS_ERROR", permanent, "the revocation list cannot be read"},
    {83, "CURLE_SSL_ISSUER_ERROR", "TLS_ERROR", permanent, "the certificate's issuer is not the wanted one"},
    {89, "CURLE_NO_CONNECTION_AVAILABLE", "CURL_89", transient, "all connections are in use"},
    {90, "CURLE_SSL_PINNEDPUBKEYNOTMATCH", "TLS_ERROR", permanent, "the server's key is not the pinned one"},
    {91, "CURLE_SSL_INVALIDCERTSTATUS", "TLS_ERROR", permanent, "the certificate's status is not good"},
    {92, "CURLE_HTTP2_STREAM", "CONNECTION_RESET", transient, "an HTTP/2 stream broke"},
    {94, "CURLE_AUTH_ERROR", "CURL_94", permanent, "authentication failed"},
    {95, "CURLE_HTTP3", "CONNECTION_RESET", transient, "HTTP/3 broke"},
    {96, "CURLE_QUIC_CONNECT_ERROR", "CONNECT_FAILED", transient, "no QUIC connection"},
    {97, "CURLE_PROXY", "CONNECT_FAILED", transient, "the proxy did not connect"},
    {98, "CURLE_SSL_CLIENTCERT", "TLS_ERROR", permanent, "the server wants a client certificate"},
};
inline constexpr CodeTable curl{CodeSource::curl, "CURL_", "https://curl.se/libcurl/c/libcurl-errors.html", curl_rows};

inline constexpr CodeRow errno_rows[] = {
    {EACCES, "EACCES", "ERRNO_EACCES", permanent, "permission denied"},
    {EADDRINUSE, "EADDRINUSE", "ERRNO_EADDRINUSE", transient, "the address is in use"},
    {EADDRNOTAVAIL, "EADDRNOTAVAIL", "CONNECT_FAILED", transient, "no local address or port is free"},
    {EAGAIN, "EAGAIN", "ERRNO_EAGAIN", transient, "not now"},
    {EBADF, "EBADF", "ERRNO_EBADF", permanent, "not an open file"},
    {EBUSY, "EBUSY", "ERRNO_EBUSY", transient, "the resource is in use"},
    {ECONNABORTED, "ECONNABORTED", "CONNECTION_RESET", transient, "the connection was aborted"},
    {ECONNREFUSED, "ECONNREFUSED", "CONNECT_REFUSED", transient, "nobody listens on the port"},
    {ECONNRESET, "ECONNRESET", "CONNECTION_RESET", transient, "the connection was reset"},
    {EDEADLK, "EDEADLK", "ERRNO_EDEADLK", transient, "a deadlock was avoided"},
    {EEXIST, "EEXIST", "ERRNO_EEXIST", permanent, "it exists already"},
    {EFBIG, "EFBIG", "ERRNO_EFBIG", permanent, "the file is too large"},
    {EHOSTUNREACH, "EHOSTUNREACH", "CONNECT_FAILED", transient, "the host cannot be reached"},
    {EINTR, "EINTR", "ERRNO_EINTR", transient, "interrupted by a signal"},
    {EINVAL, "EINVAL", "ERRNO_EINVAL", permanent, "an argument is invalid"},
    {EIO, "EIO", "ERRNO_EIO", transient, "input or output failed"},
    {EISDIR, "EISDIR", "ERRNO_EISDIR", permanent, "it is a directory"},
    {EMFILE, "EMFILE", "ERRNO_EMFILE", transient, "this process has too many files open"},
    {EMSGSIZE, "EMSGSIZE", "ERRNO_EMSGSIZE", permanent, "the message is too large"},
    {ENAMETOOLONG, "ENAMETOOLONG", "ERRNO_ENAMETOOLONG", permanent, "the name is too long"},
    {ENETDOWN, "ENETDOWN", "CONNECT_FAILED", transient, "the network is down"},
    {ENETRESET, "ENETRESET", "CONNECTION_RESET", transient, "the network dropped the connection"},
    {ENETUNREACH, "ENETUNREACH", "CONNECT_FAILED", transient, "the network cannot be reached"},
    {ENFILE, "ENFILE", "ERRNO_ENFILE", transient, "the system has too many files open"},
    {ENOBUFS, "ENOBUFS", "ERRNO_ENOBUFS", transient, "no buffer space"},
    {ENODEV, "ENODEV", "ERRNO_ENODEV", permanent, "there is no such device"},
    {ENOENT, "ENOENT", "ERRNO_ENOENT", permanent, "there is no such file"},
    {ENOLCK, "ENOLCK", "ERRNO_ENOLCK", transient, "no lock is free"},
    {ENOMEM, "ENOMEM", "OUT_OF_MEMORY", transient, "no memory"},
    {ENOSPC, "ENOSPC", "ERRNO_ENOSPC", transient, "the disk is full for now"},
    {ENOSYS, "ENOSYS", "ERRNO_ENOSYS", permanent, "the system cannot do it"},
    {ENOTCONN, "ENOTCONN", "CONNECTION_RESET", transient, "the socket is not connected any more"},
    {ENOTDIR, "ENOTDIR", "ERRNO_ENOTDIR", permanent, "it is not a directory"},
    {ENOTSUP, "ENOTSUP", "ERRNO_ENOTSUP", permanent, "not supported"},
    {EPERM, "EPERM", "ERRNO_EPERM", permanent, "not permitted"},
    {EPIPE, "EPIPE", "CONNECTION_RESET", transient, "the other end is closed"},
    {EROFS, "EROFS", "ERRNO_EROFS", permanent, "the file system is read-only"},
    // From connect, and from a read of a connection whose other end is gone. Only the caller can tell the two apart. So
    // this row assumes the read, after which the service may have acted on the request. CURLE_OPERATION_TIMEDOUT is the
    // same case.
    {ETIMEDOUT, "ETIMEDOUT", "RESPONSE_TIMEOUT", transient, "timed out, perhaps before there was a connection",
     "https://pubs.opengroup.org/onlinepubs/9699919799/functions/read.html"},
    {ETXTBSY, "ETXTBSY", "ERRNO_ETXTBSY", transient, "the program's file is in use"},
};
inline constexpr CodeTable errno_numbers{CodeSource::errno_number, "ERRNO_",
                                         "https://pubs.opengroup.org/onlinepubs/9699919799/functions/V2_chap02.html",
                                         errno_rows};

inline constexpr CodeRow grpc_rows[] = {
    {1, "CANCELLED", "GRPC_CANCELLED", permanent, "the caller cancelled it"},
    {2, "UNKNOWN", "GRPC_UNKNOWN", unknown, "the server did not say what failed"},
    {3, "INVALID_ARGUMENT", "GRPC_INVALID_ARGUMENT", permanent, "an argument is wrong whatever the state"},
    {4, "DEADLINE_EXCEEDED", "GRPC_DEADLINE_EXCEEDED", transient, "no answer in time; it may have been done"},
    {5, "NOT_FOUND", "GRPC_NOT_FOUND", permanent, "there is no such thing"},
    {6, "ALREADY_EXISTS", "GRPC_ALREADY_EXISTS", permanent, "it exists already"},
    {7, "PERMISSION_DENIED", "GRPC_PERMISSION_DENIED", permanent, "the caller may not do it"},
    {8, "RESOURCE_EXHAUSTED", "GRPC_RESOURCE_EXHAUSTED", throttled, "a quota is spent"},
    {9, "FAILED_PRECONDITION", "GRPC_FAILED_PRECONDITION", permanent, "the state must be mended first"},
    {10, "ABORTED", "GRPC_ABORTED", transient, "others did the same at once"},
    {11, "OUT_OF_RANGE", "GRPC_OUT_OF_RANGE", permanent, "past the end"},
    {12, "UNIMPLEMENTED", "GRPC_UNIMPLEMENTED", permanent, "the server cannot do it"},
    {13, "INTERNAL", "GRPC_INTERNAL", unknown, "the server broke a promise of its own"},
    {14, "UNAVAILABLE", "GRPC_UNAVAILABLE", transient, "the service is down for now"},
    {15, "DATA_LOSS", "GRPC_DATA_LOSS", permanent, "data is lost"},
    {16, "UNAUTHENTICATED", "GRPC_UNAUTHENTICATED", permanent, "the credentials are missing or wrong"},
    {"DO_NOT_RETRY", "GRPC_DO_NOT_RETRY", permanent, "the server asks not to try again (grpc-retry-pushback-ms)",
     "https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback"},
};
inline constexpr CodeTable grpc{CodeSource::grpc, "GRPC_", "https://grpc.io/docs/guides/status-codes/", grpc_rows};

inline constexpr std::string_view aws_common =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html";
inline constexpr std::string_view aws_sqs =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html";
inline constexpr std::string_view aws_s3 = "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html";

/// Rows that name no other source are in the lists by which the AWS SDKs retry.
inline constexpr CodeRow aws_rows[] = {
    {"RequestTimeout", "AWS_REQUEST_TIMEOUT", transient, "the request was not read in time"},
    {"RequestTimeoutException", "AWS_REQUEST_TIMEOUT_EXCEPTION", transient, "the request was not read in time"},
    {"InternalError", "AWS_INTERNAL_ERROR", transient, "the service failed", aws_s3},
    {"InternalFailure", "AWS_INTERNAL_FAILURE", transient, "the service failed", aws_common},
    {"ServiceUnavailable", "AWS_SERVICE_UNAVAILABLE", transient, "the service is down for now", aws_common},
    {"SqsUnavailable", "AWS_SQS_UNAVAILABLE", transient, "the queue is down for now", client_code},
    {"VisibilityTimeoutExpired", "AWS_VISIBILITY_TIMEOUT_EXPIRED", transient, "the message is visible again",
     client_code},
    {"MessageNotInflight", "AWS_MESSAGE_NOT_INFLIGHT", transient, "nobody holds the message", aws_sqs},
    {"Throttling", "AWS_THROTTLING", throttled, "too many requests"},
    {"ThrottlingException", "AWS_THROTTLING_EXCEPTION", throttled, "too many requests"},
    {"ThrottledException", "AWS_THROTTLED_EXCEPTION", throttled, "too many requests"},
    {"RequestThrottled", "AWS_REQUEST_THROTTLED", throttled, "too many requests"},
    {"RequestThrottledException", "AWS_REQUEST_THROTTLED_EXCEPTION", throttled, "too many requests"},
    {"TooManyRequestsException", "AWS_TOO_MANY_REQUESTS_EXCEPTION", throttled, "too many requests"},
    {"ProvisionedThroughputExceededException", "AWS_PROVISIONED_THROUGHPUT_EXCEEDED_EXCEPTION", throttled,
     "more than the provisioned throughput"},
    {"TransactionInProgressException", "AWS_TRANSACTION_IN_PROGRESS_EXCEPTION", throttled,
     "the same transaction is under way"},
    {"RequestLimitExceeded", "AWS_REQUEST_LIMIT_EXCEEDED", throttled, "too many requests"},
    {"BandwidthLimitExceeded", "AWS_BANDWIDTH_LIMIT_EXCEEDED", throttled, "too many bytes"},
    {"LimitExceededException", "AWS_LIMIT_EXCEEDED_EXCEPTION", throttled, "a limit is exceeded"},
    {"SlowDown", "AWS_SLOW_DOWN", throttled, "too many requests"},
    {"PriorRequestNotComplete", "AWS_PRIOR_REQUEST_NOT_COMPLETE", throttled, "the request before is not done"},
    {"EC2ThrottledException", "AWS_EC2_THROTTLED_EXCEPTION", throttled, "too many requests"},
    {"AccessDenied", "AWS_ACCESS_DENIED", permanent, "the caller may not do it", aws_s3},
    {"AccessDeniedException", "AWS_ACCESS_DENIED_EXCEPTION", permanent, "the caller may not do it", aws_common},
    {"ExpiredToken", "AWS_EXPIRED_TOKEN", permanent, "the credentials have to be renewed", aws_s3},
    {"ExpiredTokenException", "AWS_EXPIRED_TOKEN_EXCEPTION", permanent, "the credentials have to be renewed",
     aws_common},
    {"IncompleteSignature", "AWS_INCOMPLETE_SIGNATURE", permanent, "the signature is wrong", aws_common},
    {"InvalidClientTokenId", "AWS_INVALID_CLIENT_TOKEN_ID", permanent, "there is no such access key", aws_common},
    {"InvalidParameterCombination", "AWS_INVALID_PARAMETER_COMBINATION", permanent, "the parameters do not fit",
     aws_common},
    {"InvalidParameterValue", "AWS_INVALID_PARAMETER_VALUE", permanent, "a parameter is wrong", aws_common},
    {"MissingAuthenticationToken", "AWS_MISSING_AUTHENTICATION_TOKEN", permanent, "the credentials are missing",
     aws_common},
    {"MissingParameter", "AWS_MISSING_PARAMETER", permanent, "a parameter is missing", aws_common},
    {"NoSuchBucket", "AWS_NO_SUCH_BUCKET", permanent, "there is no such bucket", aws_s3},
    {"NoSuchKey", "AWS_NO_SUCH_KEY", permanent, "there is no such object", aws_s3},
    {"NotAuthorized", "AWS_NOT_AUTHORIZED", permanent, "the caller may not do it", aws_common},
    {"OptInRequired", "AWS_OPT_IN_REQUIRED", permanent, "the account has not subscribed", aws_common},
    {"QueueDoesNotExist", "AWS_QUEUE_DOES_NOT_EXIST", permanent, "there is no such queue", aws_sqs},
    {"ReceiptHandleIsInvalid", "AWS_RECEIPT_HANDLE_IS_INVALID", permanent, "the receipt handle is wrong", aws_sqs},
    {"SignatureDoesNotMatch", "AWS_SIGNATURE_DOES_NOT_MATCH", permanent, "the signature is wrong", aws_s3},
    {"UnsupportedOperation", "AWS_UNSUPPORTED_OPERATION", permanent, "the service cannot do it", aws_sqs},
    {"ValidationError", "AWS_VALIDATION_ERROR", permanent, "the request breaks a rule", aws_common},
};
inline constexpr CodeTable aws{CodeSource::aws, "AWS_",
                               "https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html", aws_rows};

inline constexpr std::string_view azure_storage =
    "https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes";
inline constexpr std::string_view azure_amqp =
    "https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot";
inline constexpr std::string_view azure_resource_manager =
    "https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling";

inline constexpr CodeRow azure_rows[] = {
    {"ServiceBusUnavailable", "AZURE_SERVICE_BUS_UNAVAILABLE", transient, "the bus is down for now", client_code},
    {"ServiceTimeout", "AZURE_SERVICE_TIMEOUT", transient, "no answer in time"},
    {"ServiceCommunicationProblem", "AZURE_SERVICE_COMMUNICATION_PROBLEM", transient, "the connection failed"},
    {"MessageLockLost", "AZURE_MESSAGE_LOCK_LOST", transient, "the message has to be received again"},
    {"SessionLockLost", "AZURE_SESSION_LOCK_LOST", transient, "the session has to be asked for again"},
    {"SessionCannotBeLocked", "AZURE_SESSION_CANNOT_BE_LOCKED", transient, "another holds the session"},
    {"QuotaExceeded", "AZURE_QUOTA_EXCEEDED", transient, "full until somebody takes messages out"},
    {"InternalError", "AZURE_INTERNAL_ERROR", transient, "the service failed", azure_storage},
    {"OperationTimedOut", "AZURE_OPERATION_TIMED_OUT", transient, "not done in time; it may have been", azure_storage},
    {"timeout", "AZURE_TIMEOUT", transient, "com.microsoft:timeout",
     "https://github.com/Azure/azure-sdk-for-js/blob/main/sdk/core/core-amqp/src/errors.ts"},
    {"connection:forced", "AZURE_CONNECTION_FORCED", transient, "the idle connection was closed", azure_amqp},
    {"link:detach-forced", "AZURE_LINK_DETACH_FORCED", transient, "the idle link was closed", azure_amqp},
    {"ServiceBusy", "AZURE_SERVICE_BUSY", throttled, "the bus is busy"},
    {"ServerBusy", "AZURE_SERVER_BUSY", throttled, "the service is busy", azure_storage},
    {"TooManyRequests", "AZURE_TOO_MANY_REQUESTS", throttled, "too many requests", azure_resource_manager},
    {"InvalidOperation", "AZURE_INVALID_OPERATION", permanent, "not allowed in this state", client_code},
    {"UnauthorizedAccess", "AZURE_UNAUTHORIZED_ACCESS", permanent, "the caller may not do it",
     "https://learn.microsoft.com/javascript/api/@azure/service-bus/servicebuserrorcode"},
    {"MessageNotFound", "AZURE_MESSAGE_NOT_FOUND", permanent, "there is no such message"},
    {"MessageSizeExceeded", "AZURE_MESSAGE_SIZE_EXCEEDED", permanent, "the message is too large"},
    {"MessagingEntityNotFound", "AZURE_MESSAGING_ENTITY_NOT_FOUND", permanent, "there is no such queue or topic"},
    {"MessagingEntityDisabled", "AZURE_MESSAGING_ENTITY_DISABLED", permanent, "the queue or topic is disabled"},
    {"MessagingEntityAlreadyExists", "AZURE_MESSAGING_ENTITY_ALREADY_EXISTS", permanent, "it exists already"},
    {"AuthenticationFailed", "AZURE_AUTHENTICATION_FAILED", permanent, "the credentials are wrong", azure_storage},
    {"AccountIsDisabled", "AZURE_ACCOUNT_IS_DISABLED", permanent, "the account is disabled", azure_storage},
    {"InsufficientAccountPermissions", "AZURE_INSUFFICIENT_ACCOUNT_PERMISSIONS", permanent, "the account may not do it",
     azure_storage},
    {"InvalidHeaderValue", "AZURE_INVALID_HEADER_VALUE", permanent, "a header is wrong", azure_storage},
    {"InvalidInput", "AZURE_INVALID_INPUT", permanent, "an input is wrong", azure_storage},
    {"ResourceNotFound", "AZURE_RESOURCE_NOT_FOUND", permanent, "there is no such resource", azure_storage},
};
inline constexpr CodeTable azure{
    CodeSource::azure, "AZURE_",
    "https://learn.microsoft.com/azure/service-bus-messaging/service-bus-messaging-exceptions-latest", azure_rows};

inline constexpr std::string_view mongodb_codes = "https://www.mongodb.com/docs/manual/reference/error-codes/";
inline constexpr std::string_view mongodb_transactions =
    "https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md";
inline constexpr std::string_view mongodb_pool =
    "https://github.com/mongodb/specifications/blob/master/source/connection-monitoring-and-pooling/"
    "connection-monitoring-and-pooling.md#connection-pool-errors";
inline constexpr std::string_view mongodb_overload =
    "https://github.com/mongodb/specifications/blob/master/source/client-backpressure/client-backpressure.md";

/// Rows without a number are error labels, or names that drivers give. Rows that name no other source are retryable
/// errors of the specification. `Other` is every code that is not listed. MongoDB adds codes with each version
/// (mongodb_codes), and those of a request that is wrong are listed here; a retry of another one may help.
inline constexpr CodeRow mongodb_rows[] = {
    {"RetryableWriteError", "MONGODB_RETRYABLE_WRITE_ERROR", transient, "labelled RetryableWriteError"},
    {"TransientTransactionError", "MONGODB_TRANSIENT_TRANSACTION_ERROR", transient,
     "labelled TransientTransactionError: the whole transaction may be tried again", mongodb_transactions},
    {"UnknownTransactionCommitResult", "MONGODB_UNKNOWN_TRANSACTION_COMMIT_RESULT", transient,
     "labelled UnknownTransactionCommitResult: the commit may be tried again", mongodb_transactions},
    {"RetryableError", "MONGODB_RETRYABLE_ERROR", transient, "labelled RetryableError", mongodb_overload},
    {"SystemOverloadedError", "MONGODB_SYSTEM_OVERLOADED_ERROR", throttled, "labelled SystemOverloadedError",
     mongodb_overload},
    {"ConnectionPoolTimeout", "MONGODB_CONNECTION_POOL_TIMEOUT", transient,
     "no connection of the driver's pool was free in time", mongodb_pool},
    {"Internal", "MONGODB_INTERNAL", transient, "the server failed", client_code},
    {"Other", "MONGODB_OTHER", transient, "a code that is not in the tables", mongodb_codes},
    {1, "InternalError", "MONGODB_INTERNAL_ERROR", transient, "the server failed", mongodb_codes},
    {6, "HostUnreachable", "MONGODB_HOST_UNREACHABLE", transient, "the host cannot be reached"},
    {7, "HostNotFound", "MONGODB_HOST_NOT_FOUND", transient, "the host's name has no address"},
    {89, "NetworkTimeout", "MONGODB_NETWORK_TIMEOUT", transient, "no answer in time"},
    {91, "ShutdownInProgress", "MONGODB_SHUTDOWN_IN_PROGRESS", transient, "the server shuts down"},
    {134, "ReadConcernMajorityNotAvailableYet", "MONGODB_READ_CONCERN_MAJORITY_NOT_AVAILABLE_YET", transient,
     "the majority has not read it yet",
     "https://github.com/mongodb/specifications/blob/master/source/retryable-reads/retryable-reads.md"},
    {189, "PrimarySteppedDown", "MONGODB_PRIMARY_STEPPED_DOWN", transient, "the primary stepped down"},
    {262, "ExceededTimeLimit", "MONGODB_EXCEEDED_TIME_LIMIT", transient, "not done in time"},
    {9001, "SocketException", "MONGODB_SOCKET_EXCEPTION", transient, "the connection failed"},
    {10107, "NotWritablePrimary", "MONGODB_NOT_WRITABLE_PRIMARY", transient, "not the primary any more"},
    {11600, "InterruptedAtShutdown", "MONGODB_INTERRUPTED_AT_SHUTDOWN", transient, "the server shuts down"},
    {11602, "InterruptedDueToReplStateChange", "MONGODB_INTERRUPTED_DUE_TO_REPL_STATE_CHANGE", transient,
     "the primary changes"},
    {13435, "NotPrimaryNoSecondaryOk", "MONGODB_NOT_PRIMARY_NO_SECONDARY_OK", transient, "not the primary"},
    {13436, "NotPrimaryOrSecondary", "MONGODB_NOT_PRIMARY_OR_SECONDARY", transient, "the server is in recovery"},
    {24, "LockTimeout", "MONGODB_LOCK_TIMEOUT", transient, "a lock was not free in time", mongodb_codes},
    {112, "WriteConflict", "MONGODB_WRITE_CONFLICT", transient, "others wrote the same at once", mongodb_codes},
    {246, "SnapshotUnavailable", "MONGODB_SNAPSHOT_UNAVAILABLE", transient, "the snapshot is gone", mongodb_codes},
    {462, "IngressRequestRateLimitExceeded", "MONGODB_INGRESS_REQUEST_RATE_LIMIT_EXCEEDED", throttled,
     "the server is overloaded", mongodb_overload},
    {2, "BadValue", "MONGODB_BAD_VALUE", permanent, "a value is wrong", mongodb_codes},
    {9, "FailedToParse", "MONGODB_FAILED_TO_PARSE", permanent, "the command cannot be read", mongodb_codes},
    {13, "Unauthorized", "MONGODB_UNAUTHORIZED", permanent, "the caller may not do it", mongodb_codes},
    {14, "TypeMismatch", "MONGODB_TYPE_MISMATCH", permanent, "a value has the wrong type", mongodb_codes},
    {18, "AuthenticationFailed", "MONGODB_AUTHENTICATION_FAILED", permanent, "the login is wrong", mongodb_codes},
    {26, "NamespaceNotFound", "MONGODB_NAMESPACE_NOT_FOUND", permanent, "there is no such collection", mongodb_codes},
    {59, "CommandNotFound", "MONGODB_COMMAND_NOT_FOUND", permanent, "there is no such command", mongodb_codes},
    {121, "DocumentValidationFailure", "MONGODB_DOCUMENT_VALIDATION_FAILURE", permanent,
     "the document breaks the collection's rules", mongodb_codes},
    {11000, "DuplicateKey", "MONGODB_DUPLICATE_KEY", permanent, "the key exists already", mongodb_codes},
};
inline constexpr CodeTable mongodb{
    CodeSource::mongodb, "MONGODB_",
    "https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md", mongodb_rows};

inline constexpr std::string_view redis_kinds =
    "https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors";
inline constexpr std::string_view redis_sentinel = "https://github.com/redis/redis/blob/unstable/src/sentinel.c";

/// Kinds, and the one whole line that tells more than its kind. `Other` is every kind that is not listed. The kinds are
/// a convention, to which servers and modules add (redis_kinds). The kinds of a request that is wrong are listed here;
/// a retry of another one may help. ERR stays unknown: it is the kind of wrong commands too.
inline constexpr CodeRow redis_rows[] = {
    {"LOADING", "REDIS_LOADING", transient, "the server reads its data"},
    {"BUSY", "REDIS_BUSY", transient, "the server runs a long script"},
    {"TRYAGAIN", "REDIS_TRYAGAIN", transient, "the keys move to another node"},
    {"CLUSTERDOWN", "REDIS_CLUSTERDOWN", transient, "the cluster has no node for the slot"},
    {"MASTERDOWN", "REDIS_MASTERDOWN", transient, "the replica has lost its master"},
    {"READONLY", "REDIS_READONLY", transient, "a replica: after a failover the client has to connect again"},
    {"MOVED", "REDIS_MOVED", transient, "another node has the slot: the client has to learn the slots again"},
    {"ASK", "REDIS_ASK", transient, "another node has the slot for this request"},
    {"NOREPLICAS", "REDIS_NOREPLICAS", transient, "not enough replicas are in step"},
    {"MISCONF", "REDIS_MISCONF", transient, "the server cannot write to its disk now"},
    {"OOM", "REDIS_OOM", transient, "over maxmemory until something expires or is evicted"},
    {"UNBLOCKED", "REDIS_UNBLOCKED", transient, "the waiting command was ended"},
    {"UNKILLABLE", "REDIS_UNKILLABLE", transient, "the server runs a script that has written"},
    {"IOERR", "REDIS_IOERR", transient, "the other server did not answer a MIGRATE"},
    {"INPROG", "REDIS_INPROG", transient, "a failover is under way", redis_sentinel},
    {"ERR max number of clients reached", "REDIS_ERR_MAX_NUMBER_OF_CLIENTS_REACHED", transient,
     "the server has too many clients", "https://redis.io/docs/latest/develop/reference/clients/"},
    {"NOGOODSLAVE", "REDIS_NOGOODSLAVE", transient, "no replica is fit to take over", redis_sentinel},
    {"OTHER", "REDIS_OTHER", transient, "a kind that is not in the tables", redis_kinds},
    {"NOAUTH", "REDIS_NOAUTH", permanent, "the login is missing"},
    {"WRONGPASS", "REDIS_WRONGPASS", permanent, "the login is wrong"},
    {"NOPERM", "REDIS_NOPERM", permanent, "the caller may not do it"},
    {"DENIED", "REDIS_DENIED", permanent, "protected mode refuses other machines"},
    {"WRONGTYPE", "REDIS_WRONGTYPE", permanent, "the key holds another type"},
    {"EXECABORT", "REDIS_EXECABORT", permanent, "a command of the transaction was refused"},
    {"NOSCRIPT", "REDIS_NOSCRIPT", permanent, "the script has to be sent with EVAL"},
    {"CROSSSLOT", "REDIS_CROSSSLOT", permanent, "the keys are not in one slot"},
    {"NOPROTO", "REDIS_NOPROTO", permanent, "the server does not speak this RESP version"},
    {"BUSYGROUP", "REDIS_BUSYGROUP", permanent, "the consumer group exists already"},
    {"BUSYKEY", "REDIS_BUSYKEY", permanent, "the key exists already"},
    {"NOGROUP", "REDIS_NOGROUP", permanent, "there is no such consumer group"},
    {"NOTBUSY", "REDIS_NOTBUSY", permanent, "no script is running"},
    {"ERR", "REDIS_ERR", unknown, "the server names no kind"},
};
inline constexpr CodeTable redis{CodeSource::redis, "REDIS_",
                                 "https://github.com/redis/redis/blob/unstable/src/server.c", redis_rows};

inline constexpr CodeTable all[] = {base, connection, http,  sqlstate, curl, errno_numbers,
                                    grpc, aws,        azure, mongodb,  redis};

}  // namespace tables
}  // namespace dogged::detail
