package rest

import (
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/server"
)

// checkClock rejects all requests while the clock of the cluster has a time that no object can have.
func checkClock(now func() time.Time) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if err := server.CheckTime(now()); err != nil {
				writeError(w, req, apierrors.NewInternalError(fmt.Errorf("the clock of the cluster: %w", err)))
				return
			}
			next.ServeHTTP(w, req)
		})
	}
}
