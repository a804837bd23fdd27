// Handlers as packages write them, with the C++ interface that JAX ships.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error RmsNorm(float eps, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  auto dims = x.dimensions();
  if (dims.size() == 0) return ffi::Error::InvalidArgument("RmsNorm takes an array");
  int64_t size = dims.back(), total = x.element_count();
  for (int64_t n = 0; n < total; n += size) {
    float sum = 0;
    for (int64_t i = 0; i < size; i++) sum += x.typed_data()[n + i] * x.typed_data()[n + i];
    float scale = 1.0f / std::sqrt(sum / float(size) + eps);
    for (int64_t i = 0; i < size; i++) y->typed_data()[n + i] = x.typed_data()[n + i] * scale;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(rms_norm, RmsNorm, ffi::Ffi::Bind()
    .Attr<float>("eps").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// All kinds of attributes, and any operands.
static ffi::Error Mixed(ffi::ThreadPool pool, ffi::RemainingArgs args,
                        ffi::Result<ffi::AnyBuffer> out, int64_t number, bool flag,
                        std::string_view text, ffi::Span<const int32_t> numbers,
                        ffi::Dictionary inside) {
  float total = float(number) + float(flag) + float(text.size());
  for (int32_t n : numbers) total += float(n);
  auto deep = inside.get<double>("deep");
  if (!deep) return ffi::Error::InvalidArgument("no deep attribute");
  total += float(*deep);
  total += float(pool.num_threads() > 0);
  for (size_t i = 0; i < args.size(); i++) {
    auto x = args.get<ffi::AnyBuffer>(i);
    if (x.has_error()) return x.error();
    total += 100.0f * float(x->element_count());
  }
  *static_cast<float *>(out->untyped_data()) = total;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(mixed, Mixed, ffi::Ffi::Bind()
    .Ctx<ffi::ThreadPool>().RemainingArgs().Ret<ffi::AnyBuffer>()
    .Attr<int64_t>("number").Attr<bool>("flag").Attr<std::string_view>("text")
    .Attr<ffi::Span<const int32_t>>("numbers").Attr<ffi::Dictionary>("inside"));

// A state that each program keeps.
struct Count {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  int32_t value;
};
ffi::TypeId Count::id = {};
ffi::TypeInfo Count::info = ffi::MakeTypeInfo<Count>();

extern "C" void *count_id() { return &Count::id; }
extern "C" void *count_info() { return &Count::info; }

static ffi::ErrorOr<std::unique_ptr<Count>> Begin(int32_t start) {
  return std::unique_ptr<Count>(new Count{start});
}

static ffi::Error Next(Count *count, ffi::Dictionary, ffi::ResultBufferR0<ffi::S32> out) {
  *out->typed_data() = count->value++;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(begin, Begin, ffi::Ffi::BindInstantiate().Attr<int32_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(next, Next, ffi::Ffi::Bind()
    .Ctx<ffi::State<Count>>().Attrs().Ret<ffi::BufferR0<ffi::S32>>());

// A result that comes later, from a task.
static ffi::Future Later(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> x,
                         ffi::ResultBuffer<ffi::F32> y) {
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule([promise = std::move(promise), x, y]() mutable {
    if (*x.typed_data() < 0) {
      promise.SetError(ffi::Error(ffi::ErrorCode::kOutOfRange, "too late"));
      return;
    }
    *y->typed_data() = *x.typed_data() + 1;
    promise.SetAvailable();
  });
  return future;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(later, Later, ffi::Ffi::Bind()
    .Ctx<ffi::ThreadPool>().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
