//go:build never

package builtin

// The go.mod of k8s.io/kubernetes requires its sibling modules at v0.0.0 and replaces them by folders of its repository,
// which other modules cannot do. So our go.mod requires each of them by its version. `go mod tidy` drops requirements
// without imports, and would then fail in the modules of our users (`k8s.io/cri-api@v0.0.0: unknown revision`). So this
// file imports one package of each. It is never built, but tidy reads it.
import (
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	_ "k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/apiserver/pkg/registry/rest"
	_ "k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/rest"
	_ "k8s.io/cloud-provider/api"
	_ "k8s.io/cluster-bootstrap/token/api"
	_ "k8s.io/code-generator/cmd/client-gen/types"
	_ "k8s.io/component-base/version"
	_ "k8s.io/component-helpers/node/topology"
	_ "k8s.io/controller-manager/controller"
	_ "k8s.io/cri-api/pkg/errors"
	_ "k8s.io/cri-client/pkg/logs"
	_ "k8s.io/cri-streaming/pkg/streaming/portforward"
	_ "k8s.io/csi-translation-lib/plugins"
	_ "k8s.io/dynamic-resource-allocation/api/metadata"
	_ "k8s.io/endpointslice/util"
	_ "k8s.io/externaljwt/apis/v1"
	_ "k8s.io/kms/pkg/util"
	_ "k8s.io/kube-aggregator/pkg/apis/apiregistration"
	_ "k8s.io/kube-controller-manager/config/v1alpha1"
	_ "k8s.io/kube-proxy/config/v1alpha1"
	_ "k8s.io/kube-scheduler/config/v1"
	_ "k8s.io/kubectl/pkg/apps"
	_ "k8s.io/kubelet/pkg/apis"
	_ "k8s.io/metrics/pkg/apis/custom_metrics"
	_ "k8s.io/mount-utils"
	_ "k8s.io/pod-security-admission/api"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
	_ "k8s.io/streaming/pkg/httpstream"
)
