// shop_producer DATABASE_URL: enqueues one task of each kind, and a second charge that no retry can help.
#include <exception>
#include <iostream>

#include <dogged/client.hpp>

#include "tasks.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: shop_producer DATABASE_URL\n";
    return 2;
  }
  try {
    dogged::Client client{argv[1]};
    client.enqueue(shop::greet_customer, {.name = "producer"});
    client.enqueue_many(shop::charge_card, {{"busy", 995}, {"stolen", 1}});
    client.enqueue(shop::send_report, {.copies = 2}, {.queue = "default", .priority = 10});
  } catch (const std::exception& error) {
    std::cerr << "shop_producer: " << error.what() << '\n';
    return 1;
  }
}
