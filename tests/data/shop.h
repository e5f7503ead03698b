// A family of two node types: whether a user churns is decided by the quality of the items bought, which stands in the
// item table alone. Every user buys five items, every item has ten buyers, and the users' own columns are noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "l2gcn/dataset.h"

namespace l2gcn {

class Shop {
 public:
  static constexpr uint32_t kUsers = 500, kItems = 250, kBought = 5;

  // The item that user `user` bought as number `k`.
  static uint32_t Item(uint32_t user, uint32_t k) {
    constexpr uint32_t kSteps[2][kBought] = {{0, 17, 71, 101, 183}, {0, 29, 97, 138, 211}};
    return (user + kSteps[user / kItems][k]) % kItems;
  }
  static bool IsGood(uint32_t item) { return Mixed(item) % 2 == 0; }
  static uint32_t GoodItems(uint32_t user) {
    uint32_t good = 0;
    for (uint32_t k = 0; k < kBought; ++k) good += IsGood(Item(user, k)) ? 1 : 0;
    return good;
  }
  static bool Churns(uint32_t user) { return GoodItems(user) * 2 < kBought; }

  // Writes users.csv, items.csv and bought.csv. `item_columns`: the table says how good an item is; `oracle`: the users'
  // table says how many good items each bought.
  static void Write(const std::filesystem::path& folder, bool item_columns = true, bool oracle = false) {
    std::string users = oracle ? "user,age,good,churn\n" : "user,age,churn\n";
    std::string items = item_columns ? "item,price,colour\n" : "item\n", bought = "item_id,user_id\n";
    for (uint32_t user = 0; user < kUsers; ++user) {
      users += std::to_string(user) + "," + std::to_string(20 + Mixed(user + 7) % 50) + ",";
      if (oracle) users += std::to_string(GoodItems(user)) + ",";
      users += Churns(user) ? "yes\n" : "no\n";
      for (uint32_t k = 0; k < kBought; ++k)
        bought += std::to_string(Item(user, k)) + "," + std::to_string(user) + "\n";
    }
    for (uint32_t item = 0; item < kItems; ++item) {
      items += std::to_string(item);
      if (item_columns) {
        items += "," + std::to_string(1000 + (IsGood(item) ? 8 : 0) + Mixed(item + 3) % 2);
        items += Mixed(item + 11) % 2 == 0 ? ",red" : ",blue";
      }
      items += "\n";
    }
    std::ofstream(folder / "users.csv") << users;
    std::ofstream(folder / "items.csv") << items;
    std::ofstream(folder / "bought.csv") << bought;
  }

  static OpenOptions Options(const std::filesystem::path& folder) {
    OpenOptions options;
    options.node_tables = {{"user", (folder / "users.csv").string()},
                           {"item", (folder / "items.csv").string()}};
    options.edge_tables = {{"user:bought:item", (folder / "bought.csv").string()}};
    options.label_column = "user:churn";
    return options;
  }

 private:
  static uint32_t Mixed(uint32_t value) {  // bits that do not follow the count
    value = (value ^ 61) ^ (value >> 16);
    value *= 9;
    value ^= value >> 4;
    value *= 0x27d4eb2d;
    return value ^ (value >> 15);
  }
};

}  // namespace l2gcn
