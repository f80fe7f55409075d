// Plain C face of the shim. It deliberately does not include HiGHS' own
// header: up to HiGHS 1.11 that header defines non-static constants, so every
// C object that includes it redefines them and the link fails with "multiple
// definition" next to github.com/lanl/highs.
#ifndef ORACCL_HIGHS_SHIM_H
#define ORACCL_HIGHS_SHIM_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct hx_ctl hx_ctl;

typedef struct {
  double dual_bound;      // of a MIP
  int64_t nodes;          // of a MIP
  int64_t lp_iterations;  // of a MIP; simplex or interior point iterations of an LP
  int64_t incumbents;     // how many improving solutions so far
  int has_bound;          // whether a MIP has reported dual_bound
} hx_progress;

typedef struct {
  int run_status;                  // kHighsStatus: -1 error, 0 ok, 1 warning
  int model_status;                // kHighsModelStatus
  int primal_status, dual_status;  // 0 none, 1 infeasible, 2 feasible
  double objective, dual_bound;
  int64_t nodes, lp_iterations;
} hx_result;

// hx_attach installs the callbacks that watch and stop the runs of highs on a
// model of ncol columns, and take its log if logging is not 0; NULL when out of
// memory. hx_detach takes them off again and frees c. No run may be on its way
// during either.
hx_ctl *hx_attach(void *highs, int32_t ncol, int logging);
void hx_detach(void *highs, hx_ctl *c);

// These are safe from any thread while highs runs. hx_incumbent copies the
// latest improving solution if there is one of n values and returns how many
// there have been. hx_log moves up to n bytes of log into out and returns how
// many.
// hx_go takes back a stop: without it a later run would end at once.
void hx_stop(hx_ctl *c);
void hx_go(hx_ctl *c);
void hx_progress_get(hx_ctl *c, hx_progress *out);
int64_t hx_incumbent(hx_ctl *c, double *out, int32_t n);
int64_t hx_log(hx_ctl *c, char *out, int64_t n);

// hx_run runs the solver on the calling OS thread, and stops the worker threads
// that belong to it. err receives the text of a C++ exception.
void hx_run(void *highs, hx_result *out, char *err, int errlen);

int hx_solution(void *highs, double *col, double *coldual, double *row, double *rowdual);
int hx_set_solution(void *highs, const double *col);
int hx_pass(void *highs, int32_t nc, int32_t nr, int32_t nz, int sense, double offset,
            const double *cost, const double *cl, const double *cu, const double *rl,
            const double *ru, const int32_t *start, const int32_t *index,
            const double *value, const int32_t *integrality);
// hx_add_column and hx_add_row add to a model that was passed; the next run begins
// at the basis of the last one.
int hx_add_column(void *highs, double cost, int32_t nz, const int32_t *index, const double *value);
int hx_add_row(void *highs, double upper, int32_t nz, const int32_t *index, const double *value);
// hx_set_row and hx_set_column change the greatest value of a row, and of a column that is 0 or more.
int hx_set_row(void *highs, int32_t row, double upper);
int hx_set_column(void *highs, int32_t column, double upper);
int hx_clear(void *highs);  // frees model and solution, keeps the object
const char *hx_version(void);
void hx_print_to_stderr(void);  // what is printed to stdout from now on
int hx_other_version(void);  // whether the linked library is not that of the header

#ifdef __cplusplus
}
#endif
#endif
