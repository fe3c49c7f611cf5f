//go:build never

package envtest

// What the project in testdata imports, where go mod tidy does not look.
import (
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/gomega"
	_ "sigs.k8s.io/controller-runtime/pkg/log/zap"
)
