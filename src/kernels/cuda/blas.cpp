#include "kernels/cuda/blas.h"

#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error_format.h"

namespace l2gcn::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA recommends for Hopper

// The functions we use, as the library exports them.
struct Library {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  // Written out, because the header overloads cublasGemmEx for C++.
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                         const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                         cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
  std::string why_not;  // one sentence on why it is not loaded, or ""
};

// Names by which the loader may find the library: of the toolkit we were built with first, then of the other major
// version whose functions are the same, then where toolkits install it. L2GCN_CUBLAS, if set, names it alone.
std::vector<std::string> Names() {
  if (const char* named = std::getenv("L2GCN_CUBLAS"); named != nullptr && *named != '\0') return {named};
  const std::string ours = fmt::format("libcublas.so.{}", CUDART_VERSION / 1000);
  return {ours, "libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/" + ours};
}

Library Load() {
  Library library;
  void* opened = nullptr;
  for (const std::string& name : Names()) {
    opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened != nullptr) break;
    if (library.why_not.empty()) library.why_not = dlerror();
  }
  if (opened == nullptr) return library;
  library.why_not.clear();
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
    if (function == nullptr) library.why_not = fmt::format("it has no function {}", name);
  };
  find(library.create, "cublasCreate_v2");
  find(library.destroy, "cublasDestroy_v2");
  find(library.set_stream, "cublasSetStream_v2");
  find(library.set_workspace, "cublasSetWorkspace_v2");
  find(library.gemm, "cublasGemmEx");
  find(library.status_string, "cublasGetStatusString");
  return library;
}

// Loaded once and kept until the process ends.
const Library& Loaded() {
  static const Library library = Load();
  return library;
}

void CheckBlas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  ThrowRuntime("cuBLAS failed while {}: {}", what, Loaded().status_string(status));
}

cublasComputeType_t ComputeTypeOf(Precision precision) {
  return precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace

Blas::Blas(const std::shared_ptr<Device>& device, cudaStream_t stream, Precision precision)
    : precision_(precision) {
  const Library& library = Loaded();
  if (!library.why_not.empty()) {
    ThrowUsage(
        "--device cuda needs cuBLAS for layers with a norm, a bias, a head, input dropout or "
        "--self-features, and it "
        "could "
        "not be loaded ({}); install the toolkit's libcublas, name it in L2GCN_CUBLAS, or use --device cpu",
        library.why_not);
  }
  const size_t bytes = std::clamp<size_t>(device->FreeBytes() / 4, size_t{1} << 20, kWorkspaceBytes);
  workspace_ = Buffer::OnDevice(device, bytes, "products by cuBLAS");
  cublasHandle_t handle = nullptr;
  CheckBlas(library.create(&handle), "starting");
  handle_ = handle;
  CheckBlas(library.set_stream(handle, stream), "starting");
  CheckBlas(library.set_workspace(handle, workspace_.as<void>(), bytes), "starting");
}

Blas::~Blas() {
  if (handle_ != nullptr) Loaded().destroy(static_cast<cublasHandle_t>(handle_));
}

// cuBLAS counts columns first, and to it our rows are columns: it computes Cᵀ = op(B)ᵀ op(A)ᵀ.
void Blas::Multiply(const BlasProduct& p) const {
  const float one = 1, zero = 0;
  const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const cudaDataType_t type = operands() == RowKind::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
  CheckBlas(
      Loaded().gemm(static_cast<cublasHandle_t>(handle_), op(p.b_transposed), op(p.a_transposed),
                    static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k), &one, p.b, type,
                    static_cast<int>(p.ldb), p.a, type, static_cast<int>(p.lda), &zero, p.c, CUDA_R_32F,
                    static_cast<int>(p.ldc), ComputeTypeOf(precision_), CUBLAS_GEMM_DEFAULT),
      "multiplying");
}

}  // namespace l2gcn::cuda
