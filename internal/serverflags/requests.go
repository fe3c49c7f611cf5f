package serverflags

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/rest"
)

// readRequests reads the flags about requests: headers of all responses, timeouts, flow control and
// profiles.
func (c *Config) readRequests(flags *Flags) error {
	if wrong := append(validateRequests(flags), validateUnused(flags)...); len(wrong) > 0 {
		return utilerrors.NewAggregate(wrong)
	}
	c.StrictTransportSecurity, c.AllowedOrigins = flags.List("strict-transport-security-directives"), flags.List("cors-allowed-origins")
	if flags.Given("request-timeout") {
		c.RequestTimeout = max(flags.Duration("request-timeout"), 1) // 0 is no default here: it ends every request
	}
	if flags.Given("min-request-timeout") {
		c.MinWatchTimeout = time.Duration(flags.Int("min-request-timeout")) * time.Second
	}
	c.WithoutProfiling = !flags.Bool("profiling")
	reading, mutating := 400, 200 // kube-apiserver's defaults
	for name, to := range map[string]*int{"max-requests-inflight": &reading, "max-mutating-requests-inflight": &mutating} {
		if flags.Given(name) {
			*to = flags.Int(name)
		}
	}
	c.FlowControl = rest.FlowControl{Off: !flags.Bool("enable-priority-and-fairness"), Seats: reading + mutating}
	if flow := c.FlowControl; !flow.Off && flow.Seats <= 0 {
		return fmt.Errorf("invalid configuration: MaxRequestsInFlight=%d and MaxMutatingRequestsInFlight=%d; they must add up to something positive",
			reading, mutating)
	}
	return nil
}

// validateRequests checks the flags about requests as a real server does, also those that have no
// effect on a cluster in memory.
func validateRequests(flags *Flags) (found []error) {
	for _, check := range []struct {
		wrong bool
		text  string
	}{
		{flags.Duration("livez-grace-period") < 0, "--livez-grace-period can not be a negative value"},
		{flags.Int("max-requests-inflight") < 0, "--max-requests-inflight can not be negative value"},
		{flags.Int("max-mutating-requests-inflight") < 0, "--max-mutating-requests-inflight can not be negative value"},
		{flags.Duration("request-timeout") < 0, "--request-timeout can not be negative value"},
		{flags.Float("goaway-chance") < 0 || flags.Float("goaway-chance") > 0.02, "--goaway-chance can not be less than 0 or greater than 0.02"},
		{flags.Int("min-request-timeout") < 0, "--min-request-timeout can not be negative value"},
		{flags.Duration("shutdown-delay-duration") < 0, "--shutdown-delay-duration can not be negative value"},
		{flags.Duration("shutdown-watch-termination-grace-period") < 0, "shutdown-watch-termination-grace-period, if provided, can not be a negative value"},
	} {
		if check.wrong {
			found = append(found, errors.New(check.text))
		}
	}
	for _, directive := range flags.List("strict-transport-security-directives") {
		if err := validateHSTS(directive); err != nil {
			found = append(found, err)
		}
	}
	for _, pattern := range flags.List("cors-allowed-origins") {
		if err := validateOrigin(pattern); err != nil {
			found = append(found, err)
		}
	}
	return found
}

// validateHSTS checks a directive of the header Strict-Transport-Security.
func validateHSTS(directive string) error {
	age, isAge := strings.CutPrefix(directive, "max-age=")
	switch {
	case strings.TrimSpace(directive) == "":
		return errors.New("empty value in strict-transport-security-directives")
	case directive == "includeSubDomains" || directive == "preload" || isAge && !strings.Contains(age, "="):
		return nil
	}
	return errors.New("--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. " +
		"see https://tools.ietf.org/html/rfc6797#section-6.1 for more information")
}

// validateOrigin checks a pattern of origins. It must be pinned to the start and the end of the host;
// page.example would also match page.example.evil.
func validateOrigin(pattern string) error {
	if pattern == "" {
		return errors.New("empty value in --cors-allowed-origins")
	}
	_, err := regexp.Compile(pattern)
	if err == nil && (!strings.Contains(pattern, "^") && !strings.Contains(pattern, "//") || !strings.ContainsAny(pattern, "$:")) {
		err = errors.New("regular expression does not pin to start/end of host in the origin header")
	}
	if err != nil {
		return fmt.Errorf("--cors-allowed-origins has an invalid regular expression: %w; an example: //example\\.com(:|$)", err)
	}
	return nil
}
