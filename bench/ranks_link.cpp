// How fast two ranks can talk, through the library's own exchange: microseconds of a small message there and back, and
// bytes a second of large ones while both sides send. One line, printed by rank 0.
//
//   mpirun -n 2 ranks_link
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "l2gcn/error.h"
#include "l2gcn/ranks.h"

namespace l2gcn {
namespace {

constexpr int kSmall = 2000, kLarge = 16;         // messages
constexpr size_t kLargeBytes = size_t{32} << 20;  // of one, as a panel of columns has

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Microseconds there and back. The fastest counts, here and below: the link is measured, not who else uses the cores.
double RoundTrip(Ranks& ranks) {
  const uint32_t other = 1 - ranks.rank();
  double fastest = 1e9;
  char word[8] = {};
  for (int i = 0; i < kSmall; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (ranks.leads()) ranks.Exchange(other, word, 0, {});
    ranks.Exchange(0, {}, other, word);
    if (!ranks.leads()) ranks.Exchange(other, word, 0, {});
    fastest = std::min(fastest, 1e6 * SecondsSince(start));
  }
  return fastest;
}

// Bytes a second in each direction, both at once.
double Rate(Ranks& ranks) {
  const uint32_t other = 1 - ranks.rank();
  std::vector<char> sent(kLargeBytes, 'x'), received(kLargeBytes);
  ranks.Exchange(other, sent, other, received);  // connections are made, pages are there
  double fastest = 0;
  for (int i = 0; i < kLarge; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ranks.Exchange(other, sent, other, received);
    fastest = std::max(fastest, static_cast<double>(kLargeBytes) / SecondsSince(start));
  }
  return fastest;
}

int Measure() {
  const auto tell = [](const std::string& text) { fmt::print(stderr, "ranks_link: {}\n", text); };
  const std::shared_ptr<Ranks> ranks = JoinRanks(tell, "messages");
  if (ranks == nullptr || ranks->size() != 2) {
    tell("start it with mpirun -n 2");
    return 2;
  }
  const double microseconds = RoundTrip(*ranks), rate = Rate(*ranks);
  if (ranks->leads())
    fmt::print("{:.1f} us there and back, {:.1f} MB/s each way\n", microseconds, rate / 1e6);
  return 0;
}

}  // namespace
}  // namespace l2gcn

int main() {
  try {
    return l2gcn::Measure();
  } catch (const std::exception& error) {
    fmt::print(stderr, "ranks_link: {}\n", error.what());
    return 1;
  }
}
