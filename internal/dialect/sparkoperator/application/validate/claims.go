package validate

import (
	"fmt"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

const (
	driverClaimPrefix = "spark.kubernetes.driver.volumes.persistentVolumeClaim."
	onDemand          = "OnDemand" // in a claim's name: Spark creates a claim for the pod (MountVolumesFeatureStep)
	noDriverClaim     = "requests a new claim for the driver, and the operator has no right to create claims; create the claim yourself and write its name into claimName"
)

// DriverClaims rejects volumes of the driver for which Spark would create a PersistentVolumeClaim: volumes whose claim
// name contains OnDemand, and volumes with a storage class and a size.
//
// The operator has no right to create claims. Without this check, the API server would reject the claims with a message
// that says nothing about volumes. If spark-submit creates the driver, these volumes work, because spark-submit creates
// the claims with the rights of the driver's service account. The driver uses the same rights for the claims of its
// executors.
func DriverClaims(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	settings := app.Spec.SparkConf
	for _, key := range conf.SortedKeys(settings) {
		rest, ok := strings.CutPrefix(key, driverClaimPrefix)
		name, setting, _ := strings.Cut(rest, ".")

		if !ok {
			continue
		}

		field := dialect.ConfField(key)

		_, sized := settings[driverClaimPrefix+name+".options.sizeLimit"]
		switch {
		case setting == "options.claimName" && strings.Contains(settings[key], onDemand):
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: noDriverClaim})
		case setting == "options.storageClass" && sized && !strings.Contains(settings[driverClaimPrefix+name+".options.claimName"], onDemand):
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: noDriverClaim + ", and remove storageClass and sizeLimit"})
		}
	}

	mounted := map[string]bool{}
	for i := range app.Spec.Driver.VolumeMounts {
		mounted[app.Spec.Driver.VolumeMounts[i].Name] = true
	}

	for i, v := range app.Spec.Volumes {
		if claim := v.PersistentVolumeClaim; claim != nil && mounted[v.Name] && strings.Contains(claim.ClaimName, onDemand) {
			wrong = append(wrong, &dialect.FieldError{Field: fmt.Sprintf("spec.volumes[%d].persistentVolumeClaim.claimName", i), Message: noDriverClaim})
		}
	}
	return wrong
}
