#include "data/sparse_matrix.h"

#include <algorithm>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

struct Entry {
  uint32_t column;
  float value;
};

// Row of entry e for each layout, and its column.
struct EntryReader {
  const StoredSparse& stored;

  template <class Visit>
  void ForEach(const Visit& visit) const {
    if (stored.layout == "coo") {
      for (size_t e = 0; e < stored.indices.size(); ++e)
        visit(stored.row_indices[e], stored.indices[e], stored.values[e]);
      return;
    }
    for (size_t outer = 0; outer + 1 < stored.indptr.size(); ++outer) {
      for (uint64_t e = stored.indptr[outer]; e < stored.indptr[outer + 1]; ++e) {
        const auto fixed = static_cast<uint32_t>(outer);
        if (stored.layout == "csr") {
          visit(fixed, stored.indices[e], stored.values[e]);
        } else {
          visit(stored.indices[e], fixed, stored.values[e]);
        }
      }
    }
  }
};

bool IsCanonical(const StoredSparse& stored, bool drop_zeros) {
  if (stored.layout != "csr") return false;
  for (size_t row = 0; row < stored.rows; ++row) {
    for (uint64_t e = stored.indptr[row]; e < stored.indptr[row + 1]; ++e) {
      if (e > stored.indptr[row] && stored.indices[e - 1] >= stored.indices[e]) return false;
      if (drop_zeros && stored.values[e] == 0) return false;
    }
  }
  return true;
}

}  // namespace

void CheckStored(const StoredSparse& stored) {
  const std::string& where = stored.where;
  if (stored.rows > UINT32_MAX || stored.cols > UINT32_MAX) {
    ThrowInput("{}: a {} × {} matrix is past what 32-bit indices reach", where, stored.rows, stored.cols);
  }
  const bool coo = stored.layout == "coo";
  const bool csc = stored.layout == "csc";
  if (!coo && !csc && stored.layout != "csr") {
    ThrowInput("{}: sparse layout '{}' is not supported; expected csr, csc or coo", where, stored.layout);
  }
  if (stored.values.size() != stored.indices.size() ||
      (coo && stored.row_indices.size() != stored.indices.size())) {
    ThrowInput("{}: {} values for {} indices", where, stored.values.size(), stored.indices.size());
  }
  // A dimension with no offset array behind it is only a claim; one far past the entries would cost memory
  // for nothing.
  const uint64_t believable = 65536 + 64 * uint64_t{stored.indices.size()};
  if ((coo || csc) && stored.rows > believable) {
    ThrowInput("{}: {} rows for {} entries are absurd", where, stored.rows, stored.indices.size());
  }
  const uint64_t outer = csc ? stored.cols : stored.rows;
  const uint64_t inner = csc ? stored.rows : stored.cols;
  if (!coo) {
    if (stored.indptr.size() != outer + 1 || stored.indptr[0] != 0 ||
        stored.indptr[outer] != stored.indices.size() ||
        !std::is_sorted(stored.indptr.begin(), stored.indptr.end())) {
      ThrowInput("{}: its offsets do not describe {} rows with {} entries", where, outer,
                 stored.indices.size());
    }
  }
  for (size_t e = 0; e < stored.indices.size(); ++e) {
    if (stored.indices[e] >= inner || (coo && stored.row_indices[e] >= stored.rows)) {
      ThrowInput("{}: entry {} lies outside the {} × {} matrix", where, e, stored.rows, stored.cols);
    }
  }
}

CsrMatrix ToCsr(const Context& context, const StoredSparse& stored, bool drop_zeros) {
  CheckStored(stored);
  CsrMatrix matrix;
  matrix.rows = stored.rows;
  matrix.cols = stored.cols;
  if (IsCanonical(stored, drop_zeros)) {
    matrix.indptr = stored.indptr;
    matrix.indices = stored.indices;
    matrix.values = stored.values;
    return matrix;
  }
  Array<uint64_t> start = Array<uint64_t>::Zeros(stored.rows + 1);
  const EntryReader reader{stored};
  reader.ForEach([&](uint32_t row, uint32_t, float) { ++start.mutable_data()[row + 1]; });
  for (size_t row = 0; row < stored.rows; ++row) start.mutable_data()[row + 1] += start[row];
  Array<Entry> entries = Array<Entry>::Allocate(stored.indices.size());
  std::vector<uint64_t> next(start.begin(), start.end());
  reader.ForEach([&](uint32_t row, uint32_t column, float value) {
    entries.mutable_data()[next[row]++] = {column, value};
  });
  matrix.indptr = Array<uint64_t>::Zeros(stored.rows + 1);
  uint64_t* indptr = matrix.indptr.mutable_data();
  ParallelFor(context, stored.rows, 1024, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      Entry* first = entries.mutable_data() + start[row];
      Entry* last = entries.mutable_data() + start[row + 1];
      std::stable_sort(first, last, [](const Entry& a, const Entry& b) { return a.column < b.column; });
      Entry* out = first;
      for (Entry* entry = first; entry != last; ++entry) {
        if (out != first && out[-1].column == entry->column) {
          out[-1].value += entry->value;
        } else {
          *out++ = *entry;
        }
      }
      if (drop_zeros) out = std::remove_if(first, out, [](const Entry& entry) { return entry.value == 0; });
      indptr[row + 1] = static_cast<uint64_t>(out - first);
    }
  });
  for (size_t row = 0; row < stored.rows; ++row) indptr[row + 1] += indptr[row];
  matrix.indices = Array<uint32_t>::Allocate(indptr[stored.rows]);
  matrix.values = Array<float>::Allocate(indptr[stored.rows]);
  ParallelFor(context, stored.rows, 1024, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const Entry* from = entries.data() + start[row];
      for (uint64_t e = indptr[row]; e < indptr[row + 1]; ++e, ++from) {
        matrix.indices.mutable_data()[e] = from->column;
        matrix.values.mutable_data()[e] = from->value;
      }
    }
  });
  return matrix;
}

StoredSparse SparseFromPickle(const Context& context, const Pickle& pickle, uint32_t value) {
  const PickleValue& matrix = pickle[value];
  if (matrix.kind != PickleKind::kSparse || matrix.state == 0) {
    ThrowInput("{}: expected a scipy sparse matrix in the pickle", pickle.where());
  }
  const auto part = [&](std::string_view name) {
    const uint32_t found = pickle.Find(value, name);
    if (found == Pickle::kAbsent) ThrowInput("{}: the sparse matrix has no '{}'", pickle.where(), name);
    return found;
  };
  StoredSparse stored;
  stored.where = pickle.where();
  stored.layout = std::string(matrix.text);
  const std::vector<uint32_t>& shape = pickle.Objects(part("_shape"));
  if (shape.size() != 2)
    ThrowInput("{}: the sparse matrix has {} dimensions, expected 2", stored.where, shape.size());
  const int64_t rows = pickle.Integer(shape[0]), cols = pickle.Integer(shape[1]);
  if (rows < 0 || cols < 0) ThrowInput("{}: a sparse matrix of {} × {}", stored.where, rows, cols);
  stored.rows = static_cast<uint64_t>(rows);
  stored.cols = static_cast<uint64_t>(cols);
  stored.values = pickle.ToArray(part("data")).As<float>(context);
  if (stored.layout == "coo") {
    stored.row_indices = pickle.ToArray(part("row")).As<uint32_t>(context);
    stored.indices = pickle.ToArray(part("col")).As<uint32_t>(context);
  } else {
    stored.indptr = pickle.ToArray(part("indptr")).As<uint64_t>(context);
    stored.indices = pickle.ToArray(part("indices")).As<uint32_t>(context);
  }
  return stored;
}

}  // namespace l2gcn
