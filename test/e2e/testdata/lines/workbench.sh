# Compiles the proof's Java programs in a Spark image, whose runtime holds the compiler's module, and prints the jars as text. Then it serves
# the source directory: --py-files are fetched from there.
set -euo pipefail
cd "$(mktemp -d)"
compile() {
	java -m jdk.compiler/com.sun.tools.javac.Main -nowarn -proc:none -Xlint:-options -source 17 -target 17 -cp "$1" -d "$2" "/source/$3.java"
	(cd "$2" && python3 -m zipfile -c "../$2.jar" dev)
	echo "$2.jar $(base64 -w0 "$2.jar")"
}
compile . greeting Greeting
compile "greeting.jar$(printf ':%s' /opt/spark/jars/*.jar)" proof Proof
exec python3 -m http.server --directory /source 8000
