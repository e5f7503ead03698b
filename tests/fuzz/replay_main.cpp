// Runs a fuzz target over its seeds and over fixed mutations of them (every truncation and a changed byte at
// every place, of short seeds; a sample of long ones), so that ordinary builds exercise it too. Exits with
// the number of inputs told.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t seeds = 0, inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string seed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      ++seeds;
      Run(seed);
      const size_t step = seed.size() / 200 + 1;
      for (size_t at = 0; at < seed.size(); at += step) {
        Run(seed.substr(0, at));
        for (const int change : {0x01, 0x80, 0xFF}) {
          std::string changed = seed;
          changed[at] = static_cast<char>(changed[at] ^ change);
          Run(changed);
        }
        inputs += 4;
      }
    }
  }
  std::printf("%zu seeds, %zu mutations\n", seeds, inputs);
  return seeds == 0 ? 1 : 0;
}
