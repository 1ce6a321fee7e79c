package dev.sparkoperator.failures;

/** Ends with an exit code of its own: {@code ExitsWith [code]}, 3 by default. */
public final class ExitsWith {
  private ExitsWith() {}

  public static void main(String[] args) {
    int code = args.length > 0 ? Integer.parseInt(args[0]) : 3;
    System.err.println("exiting with " + code + " on purpose");
    System.exit(code);
  }
}
