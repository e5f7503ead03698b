#include "kernels/ranks/rank_sparse.h"

#include <cstring>
#include <string>
#include <vector>

#include "ranks/collectives.h"

namespace l2gcn {
namespace {

// Number of entries, length of each row, columns, values.
std::string BytesOfRows(const CsrMatrix& own) {
  std::string bytes;
  const auto add = [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); };
  const uint64_t entries = own.nnz();
  add(&entries, sizeof(entries));
  for (size_t row = 0; row < own.rows; ++row) {
    const uint64_t length = own.indptr[row + 1] - own.indptr[row];
    add(&length, sizeof(length));
  }
  add(own.indices.data() + own.indptr[0], entries * sizeof(uint32_t));
  add(own.values.data() + own.indptr[0], entries * sizeof(float));
  return bytes;
}

uint64_t NumberAt(const char* at) {
  uint64_t number = 0;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

// What the ranks have said of their rows, as one matrix (rows × cols).
CsrMatrix MatrixFrom(const std::vector<std::string>& texts, size_t rows, size_t cols) {
  const auto size = static_cast<uint32_t>(texts.size());
  CsrMatrix all;
  all.rows = rows;
  all.cols = cols;
  uint64_t entries = 0;
  for (const std::string& text : texts) entries += NumberAt(text.data());
  all.indptr = Array<uint64_t>::Allocate(rows + 1);
  all.indices = Array<uint32_t>::Allocate(entries);
  all.values = Array<float>::Allocate(entries);
  uint64_t* indptr = all.indptr.mutable_data();
  indptr[0] = 0;
  for (uint32_t r = 0; r < size; ++r) {
    const char* at = texts[r].data();
    const uint64_t part = NumberAt(at);
    at += sizeof(part);
    const size_t begin = ShareBegin(rows, r, size), end = ShareBegin(rows, r + 1, size);
    const uint64_t first = indptr[begin];
    for (size_t row = begin; row < end; ++row, at += sizeof(uint64_t))
      indptr[row + 1] = indptr[row] + NumberAt(at);
    std::memcpy(all.indices.mutable_data() + first, at, part * sizeof(uint32_t));
    std::memcpy(all.values.mutable_data() + first, at + part * sizeof(uint32_t), part * sizeof(float));
  }
  return all;
}

}  // namespace

CsrMatrix AllSparseRows(Ranks& ranks, const CsrMatrix& own, size_t count) {
  return MatrixFrom(AllGatherText(ranks, BytesOfRows(own)), count, own.cols);
}

CsrMatrix SparseRowsAtRank0(Ranks& ranks, const CsrMatrix& own, size_t count) {
  std::vector<std::string> texts(ranks.size());
  texts[ranks.rank()] = BytesOfRows(own);
  if (!ranks.leads()) {
    const uint64_t length = texts[ranks.rank()].size();
    ranks.Exchange(0, {reinterpret_cast<const char*>(&length), sizeof(length)}, 0, {});
    ranks.Exchange(0, texts[ranks.rank()], 0, {});
    return {};
  }
  for (uint32_t r = 1; r < ranks.size(); ++r) {
    uint64_t length = 0;
    ranks.Exchange(0, {}, r, {reinterpret_cast<char*>(&length), sizeof(length)});
    texts[r].resize(length);
    ranks.Exchange(0, {}, r, texts[r]);
  }
  return MatrixFrom(texts, count, own.cols);
}

}  // namespace l2gcn
