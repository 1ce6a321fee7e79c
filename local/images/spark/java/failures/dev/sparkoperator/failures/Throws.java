package dev.sparkoperator.failures;

/** Ends by an exception that nobody catches: {@code Throws [message]}. */
public final class Throws {
  private Throws() {}

  public static void main(String[] args) {
    throw new IllegalStateException(args.length > 0 ? args[0] : "thrown on purpose");
  }
}
