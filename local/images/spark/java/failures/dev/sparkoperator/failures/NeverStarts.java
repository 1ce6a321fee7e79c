package dev.sparkoperator.failures;

/** Runs for ever without making a Spark session: a driver that the scheduler sees running and that never asks for an executor. */
public final class NeverStarts {
  private NeverStarts() {}

  public static void main(String[] args) throws InterruptedException {
    System.out.println("never starting a session");
    Thread.sleep(Long.MAX_VALUE);
  }
}
