// The differences between libpqxx 6.4 to 7.9 and 7.10 onward. Only connection.cpp includes this.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pqxx/pqxx>

#include "db/connection.hpp"

namespace dogged::db {

#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)

inline pqxx::params values_of(const Params& params) {
  pqxx::params values;
  for (const auto& value : params.values()) {
    if (value) {
      values.append(pqxx::zview{*value});  // a std::string would be copied
    } else {
      values.append();
    }
  }
  return values;
}

inline pqxx::result execute(pqxx::transaction_base& transaction, const std::string& text, const Params& params) {
  return transaction.exec(text, values_of(params));
}

inline pqxx::result execute_prepared(pqxx::transaction_base& transaction, const std::string& name,
                                     const Params& params) {
  return transaction.exec(pqxx::prepped{name}, values_of(params));
}

/// LISTENs as long as the connection lives. libpqxx writes the statement, which begins with no name.
class Subscription {
 public:
  Subscription(pqxx::connection& connection, const std::string& name, Channel channel,
               const std::shared_ptr<std::vector<Notification>>& arrived) {
    connection.listen(name, [channel, arrived](pqxx::notification notification) {
      arrived->push_back({channel, std::string{notification.payload}});
    });
  }
};

#else

inline std::vector<const char*> values_of(const Params& params) {
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& value : params.values()) values.push_back(value ? value->c_str() : nullptr);
  return values;
}

inline pqxx::result execute(pqxx::transaction_base& transaction, const std::string& text, const Params& params) {
  const std::vector<const char*> values = values_of(params);
  return transaction.exec_params(text, pqxx::prepare::make_dynamic_params(values));
}

inline pqxx::result execute_prepared(pqxx::transaction_base& transaction, const std::string& name,
                                     const Params& params) {
  const std::vector<const char*> values = values_of(params);
  return transaction.exec_prepared(name, pqxx::prepare::make_dynamic_params(values));
}

/// LISTENs while it lives, and ends before the connection. libpqxx writes the statement, which begins with no name.
class Subscription : public pqxx::notification_receiver {
 public:
  Subscription(pqxx::connection& connection, const std::string& name, Channel channel,
               std::shared_ptr<std::vector<Notification>> arrived)
      : pqxx::notification_receiver(connection, name), channel_(channel), arrived_(std::move(arrived)) {}

  void operator()(const std::string& payload, int) override { arrived_->push_back({channel_, payload}); }

 private:
  const Channel channel_;
  const std::shared_ptr<std::vector<Notification>> arrived_;
};

#endif

/// Call it before the connection's subscriptions end: each would send an UNLISTEN while the connection is open, and
/// wait for a server that is gone.
inline void close_at_once(pqxx::connection& connection) noexcept {
#if PQXX_VERSION_MAJOR < 7
  connection.disconnect();
#else
  connection.close();
#endif
}

/// Version 6 reconnects silently, and then LISTEN and locks are lost: forbids it.
inline void forbid_reconnecting([[maybe_unused]] pqxx::connection& connection) {
#if PQXX_VERSION_MAJOR < 7
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
#endif
}

}  // namespace dogged::db
