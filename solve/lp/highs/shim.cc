#include "shim.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <HConfig.h>
#include <interfaces/highs_c_api.h>

static_assert(sizeof(HighsInt) == 4, "HiGHS was built with 64-bit indices");

struct hx_ctl {
  std::atomic<int> stop{0};
  bool logging = false;
  HighsInt ncol = 0;
  std::mutex mu;  // guards what follows
  hx_progress p{};
  std::vector<double> best;
  std::string log;
};

static const int kWatched[] = {kHighsCallbackSimplexInterrupt, kHighsCallbackIpmInterrupt,
                               kHighsCallbackMipInterrupt, kHighsCallbackMipLogging,
                               kHighsCallbackMipImprovingSolution};

// on_event copies numbers under a lock that Go polls. No Go function is called
// from here, so nothing can panic across the border.
static void on_event(int type, const char *message, const HighsCallbackDataOut *out,
                     HighsCallbackDataIn *in, void *data) {
  hx_ctl *c = static_cast<hx_ctl *>(data);
  const bool lp = type == kHighsCallbackSimplexInterrupt || type == kHighsCallbackIpmInterrupt;
  if ((lp || type == kHighsCallbackMipInterrupt) && in)
    in->user_interrupt = c->stop.load(std::memory_order_relaxed); // HiGHS keeps what a run before was told
  std::lock_guard<std::mutex> g(c->mu);
  if (type == kHighsCallbackLogging) {
    if (message) c->log += message;
    return;
  }
  if (lp) {
    c->p.lp_iterations = type == kHighsCallbackIpmInterrupt ? out->ipm_iteration_count
                                                            : out->simplex_iteration_count;
    return;
  }
  c->p.dual_bound = out->mip_dual_bound;
  c->p.has_bound = 1;
  c->p.nodes = out->mip_node_count;
  c->p.lp_iterations = out->mip_total_lp_iterations;
  if (type == kHighsCallbackMipImprovingSolution && out->mip_solution) {
    c->best.assign(out->mip_solution, out->mip_solution + c->ncol);
    c->p.incumbents++;
  }
}

extern "C" {

hx_ctl *hx_attach(void *h, int32_t ncol, int logging) {
  hx_ctl *c = new (std::nothrow) hx_ctl;
  if (!c) return nullptr;
  c->ncol = ncol;
  c->logging = logging != 0;
  Highs_setCallback(h, on_event, c);
  for (int type : kWatched) Highs_startCallback(h, type);
  if (c->logging) Highs_startCallback(h, kHighsCallbackLogging);
  return c;
}

void hx_detach(void *h, hx_ctl *c) {
  for (int type : kWatched) Highs_stopCallback(h, type);
  if (c->logging) Highs_stopCallback(h, kHighsCallbackLogging);
  Highs_setCallback(h, nullptr, nullptr);
  delete c;
}

void hx_stop(hx_ctl *c) { c->stop.store(1, std::memory_order_relaxed); }
void hx_go(hx_ctl *c) { c->stop.store(0, std::memory_order_relaxed); }

void hx_progress_get(hx_ctl *c, hx_progress *o) {
  std::lock_guard<std::mutex> g(c->mu);
  *o = c->p;
}

int64_t hx_incumbent(hx_ctl *c, double *out, int32_t n) {
  std::lock_guard<std::mutex> g(c->mu);
  if (static_cast<size_t>(n) == c->best.size()) std::copy(c->best.begin(), c->best.end(), out);
  return c->p.incumbents;
}

int64_t hx_log(hx_ctl *c, char *out, int64_t n) {
  std::lock_guard<std::mutex> g(c->mu);
  const size_t k = std::min(static_cast<size_t>(n), c->log.size());
  std::memcpy(out, c->log.data(), k);
  c->log.erase(0, k);
  return static_cast<int64_t>(k);
}

void hx_run(void *h, hx_result *o, char *err, int errlen) {
  *o = hx_result{};
  err[0] = 0;
  try {
    o->run_status = Highs_run(h);
  } catch (const std::exception &e) {
    o->run_status = kHighsStatusError;
    std::snprintf(err, errlen, "%s", e.what());
  } catch (...) {
    o->run_status = kHighsStatusError;
    std::snprintf(err, errlen, "unknown C++ exception");
  }
  // HiGHS keeps its worker threads per OS thread and sizes them on first use: a
  // later run on this OS thread with another "threads" value would fail.
  Highs_resetGlobalScheduler(1);
  if (err[0]) return;
  o->model_status = Highs_getModelStatus(h);
  HighsInt i = 0;
  double d = 0;
  int64_t n = 0;
  if (Highs_getIntInfoValue(h, "primal_solution_status", &i) == kHighsStatusOk) o->primal_status = i;
  if (Highs_getIntInfoValue(h, "dual_solution_status", &i) == kHighsStatusOk) o->dual_status = i;
  if (Highs_getDoubleInfoValue(h, "objective_function_value", &d) == kHighsStatusOk) o->objective = d;
  if (Highs_getDoubleInfoValue(h, "mip_dual_bound", &d) == kHighsStatusOk) o->dual_bound = d;
  if (Highs_getInt64InfoValue(h, "mip_node_count", &n) == kHighsStatusOk) o->nodes = n;
  for (const char *which : {"simplex_iteration_count", "ipm_iteration_count", "pdlp_iteration_count"})
    if (Highs_getIntInfoValue(h, which, &i) == kHighsStatusOk && i > 0) o->lp_iterations += i;
}

int hx_solution(void *h, double *cv, double *cd, double *rv, double *rd) {
  return Highs_getSolution(h, cv, cd, rv, rd);
}

int hx_set_solution(void *h, const double *cv) {
  return Highs_setSolution(h, cv, nullptr, nullptr, nullptr);
}

int hx_pass(void *h, int32_t nc, int32_t nr, int32_t nz, int sense, double offset,
            const double *cost, const double *cl, const double *cu, const double *rl,
            const double *ru, const int32_t *start, const int32_t *index,
            const double *value, const int32_t *integrality) {
  try {
    return Highs_passModel(h, nc, nr, nz, 0, kHighsMatrixFormatRowwise,
                           kHighsHessianFormatTriangular, sense, offset, cost, cl, cu, rl, ru,
                           start, index, value, nullptr, nullptr, nullptr, integrality);
  } catch (...) {
    return kHighsStatusError;
  }
}

int hx_add_column(void *h, double cost, int32_t nz, const int32_t *index, const double *value) {
  try {
    return Highs_addCol(h, cost, 0, Highs_getInfinity(h), nz, index, value);
  } catch (...) {
    return kHighsStatusError;
  }
}

int hx_add_row(void *h, double upper, int32_t nz, const int32_t *index, const double *value) {
  try {
    return Highs_addRow(h, -Highs_getInfinity(h), upper, nz, index, value);
  } catch (...) {
    return kHighsStatusError;
  }
}

int hx_set_row(void *h, int32_t row, double upper) {
  try {
    return Highs_changeRowBounds(h, row, -Highs_getInfinity(h), upper);
  } catch (...) {
    return kHighsStatusError;
  }
}

int hx_set_column(void *h, int32_t column, double upper) {
  try {
    return Highs_changeColBounds(h, column, 0, upper);
  } catch (...) {
    return kHighsStatusError;
  }
}

int hx_clear(void *h) { return Highs_clear(h); }
const char *hx_version(void) { return Highs_version(); }
void hx_print_to_stderr(void) {
#ifdef __GLIBC__  // others do not let stdout be another stream
  std::fflush(stdout);
  stdout = stderr;
#endif
}
int hx_other_version(void) {
  return Highs_versionMajor() != HIGHS_VERSION_MAJOR || Highs_versionMinor() != HIGHS_VERSION_MINOR;
}
}
