/* For cuda_libraries_test: a library that is there. */
int hocket_packaged(void);

int hocket_packaged(void)
{
    return 1;
}
