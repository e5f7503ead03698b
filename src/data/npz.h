// .npz archives: named arrays, unpacked when asked for, and the data-set layouts made of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/npy.h"
#include "data/pickle.h"
#include "data/sparse_matrix.h"
#include "data/zip.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

class NpzFile {
 public:
  static NpzFile Open(const Context& context, const std::filesystem::path& path) {
    return NpzFile(ZipArchive::Open(context, path));
  }
  explicit NpzFile(ZipArchive archive) : archive_(std::move(archive)) {}

  bool Has(const std::string& name) const { return archive_.Find(name + ".npy") != nullptr; }
  NpyArray Get(const std::string& name) const;  // throws Error(kInput) if it is not there
  // The pickled object array `name`.
  Pickle GetPickle(const std::string& name) const;
  std::vector<std::string> Names() const;
  const std::string& where() const { return archive_.where(); }

 private:
  ZipArchive archive_;
};

// A sparse matrix stored as PREFIX + data, indices, indptr, shape (csr), or as scipy's save_npz (prefix "",
// with format).
StoredSparse SparseFromNpz(const Context& context, const NpzFile& npz, const std::string& prefix);

bool DetectNpz(const std::filesystem::path& path);
// Any of the layouts: scipy's matrix alone, gnn-benchmark, its dotted variant, pickled objects, plain arrays
// with `edges` and masks.
Dataset ReadNpz(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

// Two files side by side: reddit_data.npz + reddit_graph.npz (DGL), or reddit.npz + reddit_adj.npz (FastGCN,
// L²-GCN).
bool DetectRedditPair(const std::filesystem::path& path);
Dataset ReadRedditPair(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

}  // namespace l2gcn
