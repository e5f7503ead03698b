// Runs a fuzz target over its seeds and over mutations of them, so that ordinary builds exercise it too, without libFuzzer:
// truncations and changed bytes at places spread over the seed, then as many random changes of the kinds that break
// readers. Both are the same in every run. Fails where it finds no seed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#ifndef L2GCN_REPLAY_INPUTS
#define L2GCN_REPLAY_INPUTS 800
#endif

namespace {

size_t inputs = 0;

void Run(const std::string& input) {
  ++inputs;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void RunSystematic(const std::string& seed) {
  const size_t step = seed.size() / (L2GCN_REPLAY_INPUTS / 4) + 1;
  for (size_t at = 0; at < seed.size(); at += step) {
    Run(seed.substr(0, at));
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string changed = seed;
      changed[at] = static_cast<char>(changed[at] ^ change);
      Run(changed);
    }
  }
}

// A number where a digit or some bytes stood, a piece repeated, a piece left out.
void Mutate(std::mt19937& random, std::string& text) {
  const auto below = [&random](size_t bound) { return random() % bound; };
  const size_t at = below(text.size()), length = std::min<size_t>(1 + below(16), text.size() - at);
  const std::string wide[] = {"\xff\xff\xff\x7f", "\xff\xff\xff\xff", std::string("\0\0\0\x80", 4)};
  const std::string words[] = {"-1", "4294967295", "1e400", "nan", "\"\"", "[[", "null"};
  switch (below(5)) {
    case 0: {
      const size_t digit = text.find_first_of("0123456789", at);
      if (digit != std::string::npos) text.replace(digit, 1, words[below(std::size(words))]);
      return;
    }
    case 1:
      return void(text.replace(at, std::min<size_t>(4, text.size() - at), wide[below(std::size(wide))]));
    case 2:
      return void(text.insert(at, text.substr(at, length)));
    case 3:
      if (text.size() > length) text.erase(at, length);
      return;
    default:
      text[at] = static_cast<char>(below(256));
  }
}

void RunRandom(const std::string& seed) {
  std::mt19937 random(static_cast<uint32_t>(seed.size()));
  for (int i = 0; i < L2GCN_REPLAY_INPUTS / 2 && !seed.empty(); ++i) {
    std::string text = seed;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) Mutate(random, text);
    Run(text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  size_t seeds = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string seed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      ++seeds;
      Run(seed);
      RunSystematic(seed);
      RunRandom(seed);
    }
  }
  std::fprintf(stderr, "%zu seeds, %zu inputs\n", seeds, inputs);
  return seeds == 0 ? 1 : 0;
}
