package bubble

import "strings"

// mistakes are the usual reasons why the time of a bubble stands still. The first whose text is in the stack of the
// blocked goroutine is the reason.
var mistakes = []struct{ stack, mistake string }{
	{"controller-runtime/pkg/metrics/server.",
		"a manager serves metrics on a socket: write ctrl.Options{Metrics: metricsserver.Options{BindAddress: \"0\"}}"},
	{"controller-runtime/pkg/webhook.",
		"a manager serves webhooks on a socket: run it with controllerruntime.Run and fakecluster.WithWebhookPaths(folder), or write fakecluster.WithService(namespace, name, 443, mgr.GetWebhookServer().WebhookMux()) and replace the server by one whose Start waits for its context"},
	{"controller-runtime/pkg/manager.(*Server)",
		"a manager serves health probes or profiles on a socket: write ctrl.Options{HealthProbeBindAddress: \"0\", PprofBindAddress: \"0\"}"},
	{"net/http.(*persistConn)",
		"an HTTP client has a connection to a server: write fakecluster.Start(t, fakecluster.InProcess()) in the bubble, and use its RESTConfig()"},
	{").Accept(",
		"a server listens on a socket: start it before synctest.Test, or serve its handler with fakecluster.WithService"},
	{"internal/poll.",
		"a goroutine uses a socket or a pipe: open it before synctest.Test, and use it there"},
	{"[chan ", "a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test"},
	{"[select", "a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test"},
}

// Mistake names in one sentence why time stands still, and what to write instead.
func (b Blocked) Mistake() string {
	const still = "time in the synctest bubble stands still, because "
	for _, m := range mistakes {
		if strings.Contains(b.Stack, m.stack) {
			return still + m.mistake
		}
	}
	return still + "a goroutine waits for something outside of the bubble: create everything that it waits for in the function of synctest.Test"
}
