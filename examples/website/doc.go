// Package website is an operator as one writes it with controller-runtime, and how fakecluster
// tests it. Both are there to be copied.
//
// A Website is a page that is served under a host name. The operator keeps a ConfigMap with
// the page, a Deployment that serves it and a Service in front; it registers the host in a
// Registry outside of the cluster, renews that every hour, and reports by conditions and events
// how it went. It is written as for production and knows nothing of fakecluster:
//
//   - types.go: the API, with the markers of the CustomResourceDefinition
//   - reconciler.go, children.go, status.go: the controller, with the markers of the ClusterRole
//   - webhook.go: defaults and validation, with the markers of the webhook configurations
//   - setup.go: all of it added to a manager
//   - run.go: the program, with its command line
//   - config: the manifests. controller-gen makes all of them of the markers, except those of config/manager
//
// The tests start a base cluster once and give each case a fork of it:
//
//   - webhook_test.go: what users may write, as a table of cases, each on a fork
//   - life_test.go: a Website from create to delete, under the ClusterRole of config/rbac
//   - pod_test.go: the operator installed from its manifests, with two replicas in pods
//   - bubble_test.go: the same operator in testing/synctest bubbles, where hours pass at once
//   - scenarios_test.go: the operator beside scenario files
//   - explore_test.go: its life, with something going wrong at each point in turn
//   - explore_operator_test.go: the operator explored without a test
//   - planted_test.go: bugs that are planted into the operator, and found by this
//   - operator_test.go: how the tests start the operator
package website

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object crd rbac:roleName=website-operator webhook paths=. output:crd:dir=config/crd output:rbac:dir=config/rbac output:webhook:dir=config/webhook
