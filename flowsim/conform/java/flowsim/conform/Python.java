package flowsim.conform;

/** The Python end of a job: the user's functions and the values of all records are there. */
public interface Python {
    /**
     * Calls the method {@code what} of the object with this number.
     *
     * <p>Answers what the method returns, as text; or {@code !} and the error that it raised.
     */
    String call(long object, String what, long record, long timestamp, String more);
}
