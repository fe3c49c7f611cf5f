//go:build never

package builtin

// The go.mod of k8s.io/kubernetes asks for its sibling modules at v0.0.0 and replaces them by folders of its own
// repository, which a module that requires it cannot do. Our go.mod therefore requires every one of them by its
// version. `go mod tidy` drops a requirement that nothing imports, and then it fails in the modules of our users
// (`k8s.io/cri-api@v0.0.0: unknown revision`). So one package of each is imported here. This file is never built;
// tidy reads it all the same.
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
