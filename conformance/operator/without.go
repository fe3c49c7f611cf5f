package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
)

// runWithoutRules runs the operator once for each rule of its roles, without that rule.
func runWithoutRules(ctx context.Context) verdict.Result {
	result := verdict.Result{Name: "without any one rule of its role the operator is refused, and the report names the rule", Verdict: verdict.Pass}
	started := time.Now()
	objects, err := roles()
	if err == nil {
		var running sync.WaitGroup
		errs := make([]error, ruleCount(objects))
		for n := range errs {
			running.Go(func() { errs[n] = runWithout(ctx, n) })
		}
		running.Wait()
		err = errors.Join(errs...)
	}
	result.Time = time.Since(started)
	if err != nil {
		result.Verdict, result.Reason = verdict.Fail, verdict.Reason(err.Error())
	}
	return result
}

func rulesOf(object runtime.Object) []any {
	rules, _ := object.(*unstructured.Unstructured).Object["rules"].([]any)
	return rules
}

func ruleCount(objects []runtime.Object) (n int) {
	for _, object := range objects {
		n += len(rulesOf(object))
	}
	return n
}

// take takes the nth of all rules away.
func take(objects []runtime.Object, n int) (rule rbac.PolicyRule, err error) {
	for _, object := range objects {
		rules := rulesOf(object)
		if n < len(rules) {
			object.(*unstructured.Unstructured).Object["rules"] = slices.Delete(slices.Clone(rules), n, n+1)
			return rule, runtime.DefaultUnstructuredConverter.FromUnstructured(rules[n].(map[string]any), &rule)
		}
		n -= len(rules)
	}
	return rule, errors.New("there is no such rule")
}

// runWithout runs the operator without the nth rule until it is refused something, and reads the report.
func runWithout(ctx context.Context, n int) error {
	objects, err := roles()
	if err != nil {
		return err
	}
	rule, err := take(objects, n)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fakecluster-operator-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var text []byte
	for _, object := range objects {
		line, err := json.Marshal(object)
		if err != nil {
			return err
		}
		text = append(append(text, line...), "\n---\n"...)
	}
	file := filepath.Join(dir, "role.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	forbidden := make(chan struct{}, 1)
	o, end, err := begin(ctx, objects, fakecluster.WithMiddleware(func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			server.ServeHTTP(&statusWriter{w, forbidden}, req)
		})
	}))
	if err != nil {
		return err
	}
	defer end()
	go func() {
		for {
			select {
			case <-forbidden: // or refused by a webhook
			case <-ctx.Done():
				return
			}
			if o.wasRefused() {
				cancel()
			}
		}
	}()
	o.play(ctx)
	if !o.wasRefused() {
		return fmt.Errorf("without %v everything went well", rule)
	}
	diff, err := o.cluster.Access(account).CompareRoles(file)
	if err != nil {
		return err
	}
	if len(diff.Missing) != 1 || !within(diff.Missing[0], rule) {
		return fmt.Errorf("without %v the report is %s", rule, diff)
	}
	return nil
}

// within reports whether a rule is a part of another one.
func within(part, whole rbac.PolicyRule) bool {
	contained := func(part, texts []string) bool {
		return len(part) > 0 && !slices.ContainsFunc(part, func(one string) bool { return !slices.Contains(texts, one) })
	}
	return contained(part.APIGroups, whole.APIGroups) && contained(part.Resources, whole.Resources) && contained(part.Verbs, whole.Verbs)
}

// wasRefused reports whether the roles did not allow something.
func (o *operator) wasRefused() bool {
	return slices.ContainsFunc(o.cluster.Access(account).Requests, func(r inspect.AccessRequest) bool { return !r.Allowed })
}

// statusWriter says when an answer is 403.
type statusWriter struct {
	http.ResponseWriter
	forbidden chan<- struct{}
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.ResponseWriter.WriteHeader(code)
	if code == http.StatusForbidden {
		select {
		case w.forbidden <- struct{}{}:
		default: // it has been said, and nobody has looked yet
		}
	}
}

// Unwrap lets watches stream.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
