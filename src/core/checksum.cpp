#include "core/checksum.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace l2gcn {

struct ChecksumStream::State {
  XXH3_state_t* hash = XXH3_createState();
  State() { XXH3_64bits_reset(hash); }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

ChecksumStream::ChecksumStream() : state_(std::make_unique<State>()) {}
ChecksumStream::~ChecksumStream() = default;
ChecksumStream::ChecksumStream(ChecksumStream&&) noexcept = default;

void ChecksumStream::Add(const void* data, size_t bytes) {
  if (bytes > 0) XXH3_64bits_update(state_->hash, data, bytes);
}
uint64_t ChecksumStream::Sum() const { return XXH3_64bits_digest(state_->hash); }

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }
uint64_t Checksum(std::span<const uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
std::string ChecksumText(uint64_t sum) { return fmt::format("{:016x}", sum); }

}  // namespace l2gcn
