// The keys that the shop's producer and worker share.
#pragma once

#include <string>

#include <dogged/task.hpp>

namespace shop {

struct Greeting {
  std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Greeting, name)

struct Charge {
  std::string card;
  int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Charge, card, cents)

struct ChargeReceipt {
  int tries = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ChargeReceipt, tries)

struct Report {
  int copies = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, copies)

inline constexpr dogged::Task<Greeting, std::string> greet_customer{"customer.greet"};
inline constexpr dogged::Task<Charge, ChargeReceipt> charge_card{"card.charge"};
inline constexpr dogged::Task<Report> send_report{"report.send"};

}  // namespace shop
