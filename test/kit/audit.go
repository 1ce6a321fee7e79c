package kit

import (
	"path/filepath"
	"testing"
)

// MainAudited does what Main does, with a control plane that writes an audit log with the bodies of writes.
func MainAudited(m *testing.M) {
	controlPlane.audited = true

	Main(m)
}

// AuditLog returns the path of the audit log. It skips the test if the control plane is not the embedded one.
func AuditLog(t testing.TB) string {
	t.Helper()
	Rest(t)

	if controlPlane.road.kind != embedded {
		t.Skip("needs the audit log of the embedded control plane")
	}
	return filepath.Join(controlPlane.dir, "audit.log")
}
